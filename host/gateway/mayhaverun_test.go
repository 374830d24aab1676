package gateway_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A model that does not know that a call may have run makes it again.
func TestCallerLearnsThatACallMayHaveRunWhateverHasFailed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call http.HandlerFunc
		want string // the end of the reason
	}{
		"stream that cannot be resumed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata: \n\n")
		}, "HTTP 405 Method Not Allowed: unavailable; the call may have run"},
		"proxy that fails": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}, "HTTP 502 Bad Gateway: unavailable; the call may have run"},
		"request that is refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, "HTTP 429 Too Many Requests: unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct {
					ID     jsontext.Value `json:"id"`
					Method string         `json:"method"`
				}
				if r.Method != http.MethodPost || json.UnmarshalRead(r.Body, &m) != nil {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				answer := map[string]string{
					mcp.MethodInitialize: `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}`,
					mcp.MethodToolsList:  `"result":{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`,
				}[m.Method]
				switch {
				case m.ID == nil:
					w.WriteHeader(http.StatusAccepted)
				case m.Method == mcp.MethodToolsCall:
					test.call(w, r)
				default:
					if answer == "" {
						answer = `"error":{"code":-32601,"message":"no"}`
					}
					w.Header().Set("Content-Type", "application/json")
					_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
				}
			}))
			t.Cleanup(web.Close)
			c := mcptest.Connect(t, start(t, host.Upstream{Key: "a", Target: mcpclient.URL(web.URL)}).Server(), &mcpclient.Options{Logger: quiet})
			result, err := c.CallTool(t.Context(), "a__go", nil)
			if err != nil || !strings.Contains(result.Content.Text(), test.want+" (incident ") {
				t.Errorf("got %+v, %v, want %q", result, err, test.want)
			}
		})
	}
}
