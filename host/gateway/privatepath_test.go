package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestPathOfAURLWithReferencesIsInNoReason(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	const path = "/users/top secret%2fpart/mcp"
	reference := []host.Reference{{Kind: host.InputReference, Name: "inp"}}
	for what, server := range map[string]*httptest.Server{"refuses": refuses, "closed": closed} {
		for _, source := range []*host.Source{{URL: host.Text{Written: server.URL + "/users/${input:inp}/mcp", References: reference}}, {URL: host.Text{Written: server.URL + path}}} {
			seen, statuses := new(decisions), make(chan host.Status, 100)
			u := host.Upstream{Key: "s", Target: mcpclient.URL(server.URL), Source: source}
			u.Resolve = func(context.Context) (*host.Upstream, error) {
				resolved := u
				resolved.Target = mcpclient.URL(server.URL + strings.ReplaceAll(path, " ", "%20"))
				return &resolved, nil
			}
			g := startWith(t, &gateway.Options{OnDecision: seen.add, OnStatus: func(s host.Status) { statuses <- s }}, u)
			status := awaitStatus(t, statuses, "failed", func(s host.Status) bool { return s.State == host.Failed })
			g.Close()
			all := strings.Join(append(seen.of(host.ActionStart), status.Reason), "\n")
			if shown := strings.Contains(all, "secret") || strings.Contains(all, "users") || strings.Contains(all, "part"); shown != source.URL.Literal() || !strings.Contains(all, server.URL) {
				t.Errorf("%s, %q: got %q, want the origin, and the path only of a URL without references", what, source.URL.Written, all)
			}
		}
	}
}
