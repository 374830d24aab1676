package gateway_test

import (
	"context"
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A client may open what it is given. So only addresses of web pages reach it, whose host can be
// read.
func TestUpstreamSendsUsersToWebPagesOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"javascript:alert(1)", "file:///etc/passwd", "ms-msdt:/id", "https://github.com@evil.example/", "https://g\u0456thub.com/", "//evil.example/", "http://evil.example/", "https://evil.example/\u202egpj",
	} {
		for _, as := range []string{"input", "error"} {
			t.Run(as+" "+address, func(t *testing.T) {
				t.Parallel()
				revision := map[string]mcp.Revision{"input": mcp.V20260728, "error": mcp.V20251125}[as]
				srv := mcpserver.New("s", "1", &mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet})
				visit := mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "?", URL: address}
				srv.AddTool(mcp.Tool{Name: "go", InputSchema: jsonValue(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
					if as == "input" {
						raw, err := json.Marshal(visit)
						return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: raw}}}, err
					}
					visit.ElicitationID = "1"
					data, err := json.Marshal(mcp.URLElicitationRequiredData{Elicitations: []mcp.ElicitParams{visit}})
					if err != nil {
						return nil, err
					}
					return nil, &mcp.Error{Code: mcp.CodeURLElicitationRequired, Message: "?", Data: data}
				})
				for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
					o := &mcpclient.Options{Revisions: []mcp.Revision{down}, Logger: quiet}
					o.ElicitURL = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						t.Errorf("the user is sent to %s", p.URL)
						return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
					}
					c := mcptest.Connect(t, start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(srv)}).Server(), o)
					result, err := c.CallTool(t.Context(), "a__go", nil, mcpclient.ManualInput())
					if err == nil || !strings.Contains(err.Error(), `url of the server "a": want https`) {
						t.Errorf("%s: got %+v, %v, want the question refused", down, result, err)
					}
				}
			})
		}
	}
}
