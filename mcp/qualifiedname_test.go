package mcp_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestQualifiedNamesAreValidForModelsAndUnique(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-209a")
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	long := strings.Repeat("x", 80)
	seen := make(map[string]string)
	for _, server := range []string{"a", "a-b", strings.Repeat("s", 32)} {
		if err := mcp.CheckServerName(server); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"get", "_get", "a.b", "a_b", "a/b", "größe", "", long, long + "y", strings.Repeat("s", 31)} {
			got := mcp.QualifiedName(server, name)
			if !valid.MatchString(got) || !strings.HasPrefix(got, server+"__") {
				t.Errorf("%q of %q: got %q, want a valid name that begins with the server", name, server, got)
			}
			if s, n, ok := mcp.CutQualifiedName(got); !ok || s != server || (n == name) != (got == server+"__"+name) {
				t.Errorf("%q of %q: cut into %q and %q, %t", name, server, s, n, ok)
			}
			if other, taken := seen[got]; taken {
				t.Errorf("%q of %q: got %q, as for %s", name, server, got, other)
			}
			seen[got] = name + " of " + server
		}
	}
	for _, invalid := range []string{"", "A", "a_b", "-a", strings.Repeat("s", 33), "a b"} {
		if err := mcp.CheckServerName(invalid); err == nil {
			t.Errorf("%q: got no error", invalid)
		}
		if s, n, ok := mcp.CutQualifiedName(invalid + "__get"); ok || s != "" || n != "" {
			t.Errorf("%q: cut into %q and %q", invalid, s, n)
		}
	}
}
