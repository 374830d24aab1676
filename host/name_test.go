package host_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
)

func TestWireNamesFitEveryModel(t *testing.T) {
	claim.Shows(t, "R-209a")
	long := strings.Repeat("x", 80)
	tests := []struct{ key, name, want string }{
		{"files", "read_file", "files__read_file"},
		{"files", "_private", "files___private"},
		{"a-1", strings.Repeat("x", 59), "a-1__" + strings.Repeat("x", 59)},
		{"files", "a.b", "files__a_b_"},
		{"files", "größe", "files__gr__e_"},
		{"files", long, "files__" + strings.Repeat("x", 48) + "_"},
	}
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	for _, test := range tests {
		got := host.WireName(test.key, test.name)
		if !valid.MatchString(got) || !strings.HasPrefix(got, test.want) {
			t.Errorf("WireName(%q, %q): got %q, want %s", test.key, test.name, got, test.want)
		}
	}
}

func TestTruncatedNamesStayUnique(t *testing.T) {
	long := strings.Repeat("x", 80)
	seen := make(map[string]string)
	for _, name := range []string{"a.b", "a_b", "a/b", "a b", long, long + "y", long + "z"} {
		wire := host.WireName("files", name)
		if other, taken := seen[wire]; taken {
			t.Errorf("%q and %q are both %q", name, other, wire)
		}
		seen[wire] = name
	}
}

func TestBothFormsOfANameAreAccepted(t *testing.T) {
	for _, name := range []string{"read_file", "_x", "a.b", strings.Repeat("x", 80)} {
		wire := host.WireName("files", name)
		for _, written := range []string{wire, "files/" + name, host.DisplayName(wire)} {
			if got := host.ParseName(written); got != wire {
				t.Errorf("ParseName(%q): got %q, want %q", written, got, wire)
			}
		}
	}
	for _, other := range []string{"echo", "Not a key/echo", "a__"} {
		if got := host.ParseName(other); got != other {
			t.Errorf("ParseName(%q): got %q, want it unchanged", other, got)
		}
	}
}

func TestKeysOfUpstreams(t *testing.T) {
	for key, valid := range map[string]bool{
		"a": true, "files": true, "my-files-2": true, strings.Repeat("a", 32): true,
		"": false, "-a": false, "Files": false, "a_b": false, "a b": false, "a/b": false, strings.Repeat("a", 33): false,
	} {
		if err := host.CheckKey(key); (err == nil) != valid {
			t.Errorf("CheckKey(%q): got %v, want valid %v", key, err, valid)
		}
	}
}

// What a server names its tools does not matter: the name that clients see belongs to that server.
func TestToolsNeverBelongToAnotherServer(t *testing.T) {
	t.Parallel()
	names := []string{
		"read", "__read", "b__read", "a__b__read", "b/read", "/b/read", "B__read", "b\u200b__read", "ｂ__read", "b\u0335__read", "", "__", "_", strings.Repeat("b__", 40),
		strings.Repeat("x", 100), "b__" + strings.Repeat("x", 100), "\x1b[2Kb__read", "b\n__read", "../b__read",
	}
	seen := make(map[string]string)
	for _, key := range []string{"a", "b", "a-b", "b-"} {
		for _, name := range names {
			wire := host.WireName(key, name)
			if owner := host.KeyOf(wire); owner != key {
				t.Errorf("%s, %q: got the name %s of server %q", key, name, wire, owner)
			}
			if before, known := seen[wire]; known {
				t.Errorf("%s is the name of %s and of %s, %q", wire, before, key, name)
			}
			seen[wire] = fmt.Sprintf("%s, %q", key, name)
		}
	}
	for _, key := range []string{"A", "a_b", "a__b", "ａ", "а", "a\u0335", "", "-a", strings.Repeat("a", 33)} {
		if err := host.CheckKey(key); err == nil {
			t.Errorf("%q: got a valid key, want keys that look like others refused", key)
		}
	}
}
