package mcp_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestPrincipals(t *testing.T) {
	t.Parallel()
	seen := map[string]mcp.Principal{}
	for _, c := range []struct {
		p             mcp.Principal
		authenticated bool
		want          string
	}{
		{mcp.PrincipalAnonymous, false, "anonymous"},
		{mcp.PrincipalLocal, false, "local"},
		{mcp.Principal{Issuer: "https://id", Subject: "a"}, true, `issuer="https://id" subject="a" client=""`},
		{mcp.Principal{Issuer: "https://id", Subject: "local"}, true, `issuer="https://id" subject="local" client=""`},
		{mcp.Principal{Issuer: "i", Subject: `a" client="b`}, true, `issuer="i" subject="a\" client=\"b" client=""`},
		{mcp.Principal{Issuer: "i", Subject: "a\n", Client: "b"}, true, `issuer="i" subject="a\n" client="b"`},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if got := c.p.Authenticated(); got != c.authenticated {
			t.Errorf("%v: got authenticated %t, want %t", c.p, got, c.authenticated)
		}
		if other, taken := seen[c.p.String()]; taken {
			t.Errorf("%#v and %#v look the same", c.p, other)
		}
		seen[c.p.String()] = c.p
	}
}
