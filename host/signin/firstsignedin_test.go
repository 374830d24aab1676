package signin_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Without a token in memory the tokens of earlier sign-ins count, also if they cannot be read.
func TestLaterStoresAreAskedForATokenThatTheFirstLacks(t *testing.T) {
	t.Parallel()
	dir, locked := t.TempDir(), errors.New("locked")
	if err := os.MkdirAll(filepath.Join(dir, "tokens"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokens", "some"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	memory := signin.InMemory(new(signin.Options))
	unreadable := signin.Open(dir, &signin.Options{Key: func(context.Context) ([]byte, error) { return nil, locked }})
	u := &host.Upstream{Target: mcpclient.URL("https://mcp.example.com/mcp")}
	for name, test := range map[string]struct {
		stores []*signin.TokenStore
		want   error
	}{
		"no token":                   {[]*signin.TokenStore{memory, signin.InMemory(new(signin.Options))}, nil},
		"a store that is unreadable": {[]*signin.TokenStore{memory, unreadable}, locked},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "https://mcp.example.com/mcp", nil)
		if err := signin.FirstSignedIn(u, test.stores...).Authorize(r); !errors.Is(err, test.want) || r.Header.Get("Authorization") != "" {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	if a := signin.FirstSignedIn(&host.Upstream{Target: mcpclient.Command("server")}, memory); a != nil {
		t.Errorf("got %v for a program, want none", a)
	}
}
