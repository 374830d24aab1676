package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
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

// The host remembers only so many bytes of the URIs that a server names, whatever their number.
func TestURIsThatResultsNameAreLimitedInBytes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	f := &sessionTarget{revision: mcp.V20251125, make: func(o *mcpserver.Options) *mcpserver.Server {
		var unlisted *mcpserver.FeatureSet
		o.RequestFeatures = func(*mcpserver.Request) (_, all []*mcpserver.FeatureSet) {
			return nil, []*mcpserver.FeatureSet{unlisted}
		}
		o.Dynamic = true
		srv := mcpserver.New("press", "1", o)
		unlisted = srv.NewFeatureSet()
		if err := unlisted.AddTemplate(mcp.ResourceTemplate{URITemplate: "print://{id}", Name: "print"}, func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "printed"}}}, nil
		}); err != nil {
			t.Error(err)
		}
		srv.Tool("print", "Print", func(_ context.Context, in struct {
			URIs []string `json:"uris"`
		},
		) (links mcp.Contents, _ error) {
			for _, uri := range in.URIs {
				links = append(links, mcp.ResourceLink{Resource: mcp.Resource{URI: uri, Name: "1"}})
			}
			return links, nil
		})
		return srv
	}}
	_, c := open(t, nil, host.Upstream{Key: "p", Target: mcpclient.InProcess(f)})
	long := func(digit string, size int) string { return "print://" + strings.Repeat(digit, size) }
	for _, uris := range [][]string{
		{"print://a", long("1", 20<<10), long("2", 20<<10), long("3", 20<<10), "print://b"},
		{long("4", 20<<10)},
		{long("5", 70<<10)},
	} {
		if _, err := c.CallTool(t.Context(), "p__print", map[string][]string{"uris": uris}); err != nil {
			t.Fatal(err)
		}
	}
	for uri, want := range map[string]bool{
		"print://a": false, long("1", 20<<10): false, long("2", 20<<10): true, "print://b": true, long("4", 20<<10): true, long("5", 70<<10): false,
	} {
		if _, err := c.ReadResource(t.Context(), uri); (err == nil) != want {
			t.Errorf("%.20s… of %d bytes: got %.200v, want it remembered: %t", uri, len(uri), err, want)
		}
	}
}
