package host_test

import (
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

func TestClientsThatMayAskForConsent(t *testing.T) {
	t.Parallel()
	s := host.ConsentSettings{Clients: []string{"editor", "", "7f3a"}}
	for _, test := range []struct {
		principal mcp.Principal
		client    string
		want      bool
	}{
		{mcp.PrincipalLocal, "editor 1.2", true},
		{mcp.PrincipalLocal, "editor", true},
		{mcp.PrincipalLocal, "editors 1", false},
		{mcp.PrincipalLocal, "", false},
		{mcp.PrincipalAnonymous, "editor", false}, // anybody can declare that name
		{mcp.Principal{Issuer: "https://id.example", Subject: "ada", Client: "7f3a"}, "other", true},
		{mcp.Principal{Issuer: "https://id.example", Subject: "7f3a", Client: "other"}, "editor", false},
		{mcp.Principal{Issuer: "tokens", Subject: "7f3a"}, "other", true},
		{mcp.Principal{Issuer: "tokens", Subject: "ada"}, "editor", false},
	} {
		if got := s.MayAsk(&host.ConsentRequest{Principal: test.principal, Client: test.client}); got != test.want {
			t.Errorf("%v, %q: got %v, want %v", test.principal, test.client, got, test.want)
		}
	}
}
