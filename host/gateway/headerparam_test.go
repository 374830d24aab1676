package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A server need not refuse a call without the headers that it asks for: a load balancer in
// front of it may need them.
func TestArgumentsAreRepeatedInHeadersOnEveryConnection(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-146a")
	for _, share := range []bool{false, true} {
		var mu sync.Mutex
		var headers []string
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     jsontext.Value `json:"id"`
				Method string         `json:"method"`
			}
			if json.UnmarshalRead(r.Body, &m) != nil || m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			result := `{"resultType":"complete"}`
			switch m.Method {
			case mcp.MethodDiscover:
				result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
			case mcp.MethodToolsList:
				result = `{"resultType":"complete","tools":[{"name":"go","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}],"ttlMs":0,"cacheScope":"private"}`
			case mcp.MethodToolsCall:
				mu.Lock()
				headers = append(headers, r.Header.Get("Mcp-Param-Region"))
				mu.Unlock()
				result = `{"resultType":"complete","content":[]}`
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`))
		}))
		t.Cleanup(web.Close)
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.URL(web.URL), Settings: host.Settings{Share: share}})
		var want []string
		for i, o := range []mcpclient.Options{
			{Revisions: []mcp.Revision{mcp.V20251125}},
			{Revisions: []mcp.Revision{mcp.V20260728}},
			{Revisions: []mcp.Revision{mcp.V20260728}, Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }},
		} {
			c := newListingClient(t, g.Server(), o)
			region := fmt.Sprint("region", i)
			if _, err := c.CallTool(t.Context(), "d__go", map[string]string{"region": region}); err != nil {
				t.Error(err)
			}
			want = append(want, region)
		}
		mu.Lock()
		if !slices.Equal(headers, want) {
			t.Errorf("share %t: got headers %q, want %q", share, headers, want)
		}
		mu.Unlock()
	}
}
