package gateway_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// linkServer creates a resource for its caller, and links to it in the result.
func linkServer(o *mcpserver.Options) *mcpserver.Server {
	srv := mcpserver.New("press", "1", o)
	srv.Tool("print", "Print", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (mcp.Content, error) {
		err := srv.SetResource(mcp.Resource{URI: "print://1", Name: "1"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "print://1", Text: in.Text}}}, nil
		})
		return mcp.ResourceLink{Resource: mcp.Resource{URI: "print://1", Name: "1"}}, err
	})
	srv.Resource("print://all", "all", "text/plain", func(context.Context) ([]byte, error) { return nil, nil })
	return srv
}

// A resource that a server has created for one session can be read by that session only.
func TestResourceThatAResultNamesIsReadByItsCaller(t *testing.T) {
	t.Parallel()
	for _, down := range []mcp.Revision{mcp.V20250618, mcp.V20251125} {
		t.Run(fmt.Sprint(down), func(t *testing.T) {
			t.Parallel()
			f := &sessionTarget{revision: mcp.V20251125, make: linkServer}
			g, _ := open(t, nil, host.Upstream{Key: "p", Target: mcpclient.InProcess(f)})
			connect := func() *mcpclient.Client {
				return mcptest.Connect(t, g.Server(), &mcpclient.Options{Revisions: []mcp.Revision{down}, Logger: quiet})
			}
			ada, bob, eve := connect(), connect(), connect()
			for name, c := range map[string]*mcpclient.Client{"ada": ada, "bob": bob} {
				if _, err := c.ReadResource(t.Context(), "print://1"); mcp.CodeOf(err) != mcp.CodeResourceNotFound {
					t.Errorf("%s: got %v, want nothing before it is there", name, err)
				}
				if _, err := c.CallTool(t.Context(), "p__print", map[string]string{"text": "of " + name}); err != nil {
					t.Fatal(err)
				}
			}
			for name, c := range map[string]*mcpclient.Client{"ada": ada, "bob": bob} {
				result, err := c.ReadResource(t.Context(), "print://1")
				if err != nil || len(result.Contents) != 1 || result.Contents[0].Text != "of "+name {
					t.Errorf("%s: got %+v, %v, want its own", name, result, err)
				}
			}
			if _, err := eve.ReadResource(t.Context(), "print://1"); mcp.CodeOf(err) != mcp.CodeResourceNotFound {
				t.Errorf("eve: got %v, want nothing that was not named to her", err)
			}
		})
	}
}
