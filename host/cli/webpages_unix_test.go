//go:build unix

package cli_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// The routes of a host for a page that the user only visits, and for one whose name was made to
// resolve to this machine. Health checks use any address and name.
func TestWebPagesReachNothingOfTheHostButItsHealth(t *testing.T) {
	t.Parallel()
	open, _, _ := guarded(t, `{"mcpServers": {}}`)
	protected, _, _ := guarded(t, `{"mcpServers": {}}`, "--auth", newAuthority(t).URL)
	const metadata = "/.well-known/oauth-protected-resource"
	for _, tt := range []struct {
		url, path             string
		own, rebound, foreign int // status for the own name, for another Host, and for another Origin
		byAddress             int // status for an address of another machine as Host
	}{
		{open, "/mcp", 406, 403, 403, 403},
		{open, "/sse", 406, 403, 403, 403},
		{open, "/", 200, 403, 403, 403},
		{open, "/readyz", 200, 403, 200, 200},
		{open, "/healthz", 200, 200, 200, 200},
		{open, "/other", 404, 404, 404, 404},
		{protected, "/mcp", 401, 403, 403, 403},
		{protected, "/sse", 401, 403, 403, 403},
		{open, "/console/s/x/", 401, 403, 403, 403},
		{open, "/console/login?key=x", 403, 403, 403, 403},
		{protected, "/", 200, 403, 403, 403},
		{protected, "/console/s/x/", 401, 403, 403, 403},
		{protected, "/readyz", 200, 403, 200, 200},
		{protected, "/healthz", 200, 200, 200, 200},
		{protected, metadata, 200, 403, 200, 403},
	} {
		for _, from := range []struct {
			what, host, origin string
			want               int
		}{
			{"own name", "localhost", "", tt.own},
			{"rebound name", "evil.example", "", tt.rebound},
			{"page of another origin", "localhost", "https://evil.example", tt.foreign},
			{"address", "192.0.2.7:80", "", tt.byAddress},
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(tt.url, "/mcp")+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = from.host
			r.Header.Set("Accept", "text/html")
			if from.origin != "" {
				r.Header.Set("Origin", from.origin)
			}
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != from.want || tt.path == "/healthz" && len(body) > 0 {
				t.Errorf("%s, %s: got status %d, %q, want %d", tt.path, from.what, response.StatusCode, body, from.want)
			}
			if readable := response.Header.Get("Access-Control-Allow-Origin"); readable != "" && tt.path != metadata {
				t.Errorf("%s, %s: pages of %s may read it, want none", tt.path, from.what, readable)
			}
		}
	}
}
