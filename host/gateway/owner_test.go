package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// crowdedServer is an upstream with the things of which the host keeps tables.
func crowdedServer() *mcpserver.Server {
	var late *mcpserver.FeatureSet
	var grown atomic.Bool // and nothing was announced
	srv := mcpserver.New("crowded", "1", &mcpserver.Options{
		Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet, Dynamic: true,
		RequestFeatures: func(*mcpserver.Request) (listed, _ []*mcpserver.FeatureSet) {
			if grown.Load() {
				listed = append(listed, late)
			}
			return listed, nil
		},
	})
	late = srv.NewFeatureSet()
	if err := late.AddTool(mcp.Tool{Name: "late", InputSchema: []byte(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("late")}}, nil
	}); err != nil {
		panic(err)
	}
	srv.Tool("grow", "", func(context.Context, struct{}) (string, error) {
		grown.Store(true)
		return "", nil
	})
	srv.Template("note://{part}", "note", "text/plain", func(_ context.Context, in struct {
		Part string `json:"part"`
	},
	) ([]byte, error) {
		return []byte(in.Part), nil
	})
	srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			var p mcp.ReadResourceParams
			if r.Method() == mcp.MethodResourcesRead && r.Decode(&p) == nil && strings.HasPrefix(p.URI, "link:") {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "linked"}}}, nil
			}
			return next(ctx, r)
		}
	})
	address := func(name string) string { return "https://example.com/" + name }
	srv.Tool("hello", "", greet)
	srv.Tool("change", "", func(_ context.Context, in greeting) (string, error) {
		srv.Updated("note://" + in.Name)
		return "", nil
	})
	srv.AddTool(mcp.Tool{Name: "links", InputSchema: []byte(`{"type":"object"}`)}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		var links mcp.Contents
		if strings.Contains(string(p.Arguments), "bob") {
			links = mcp.Contents{mcp.ResourceLink{Resource: mcp.Resource{URI: "link://bob", Name: "link"}}}
		}
		for i := range 4 - 4*len(links) {
			links = append(links, mcp.ResourceLink{Resource: mcp.Resource{URI: fmt.Sprintf("link://%d%s", i, strings.Repeat("x", 16_000)), Name: "link"}})
		}
		return &mcp.CallToolResult{Content: links}, nil
	})
	srv.Tool("visit", "", func(_ context.Context, in greeting) (string, error) {
		return "", mcpserver.URLElicitationRequired("Please sign in.", address(in.Name)+strings.Repeat("x", 1000*(len(in.Name)-3)))
	})
	srv.Tool("visited", "", func(ctx context.Context, in greeting) (string, error) {
		return "", srv.ElicitationComplete(ctx, address(in.Name))
	})
	return srv
}

// One owner takes all it can get of one thing of the host, with many clients. A client of another
// owner gets some all the same. Each row is a table of the host.
func TestOneOwnerDoesNotExcludeOthersFromTheHost(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	hello := func(t *testing.T, c *mcpclient.Client) {
		t.Helper()
		if got, err := c.Call[string](t.Context(), "a__hello", greeting{"Bob"}); err != nil || got != "Hello Bob" {
			t.Errorf("the modest client: got %q, %v, want it served", got, err)
		}
	}
	var completed atomic.Int32
	for _, tt := range []struct {
		table   string
		clients int // that are greedy
		each    int // that one of them takes
		greedy  func(t *testing.T, c *mcpclient.Client, n int)
		before  func(t *testing.T, c *mcpclient.Client) // by the modest client, or nil
		modest  func(t *testing.T, c *mcpclient.Client)
	}{
		{table: "connections", clients: 260, each: 1, greedy: func(t *testing.T, c *mcpclient.Client, n int) {
			_, _ = c.Call[string](t.Context(), "a__hello", greeting{"Eve"})
		}, modest: hello},
		{table: "watches", clients: 2, each: 600, greedy: func(t *testing.T, c *mcpclient.Client, n int) {
			go func() {
				for range c.Watch(t.Context(), fmt.Sprintf("note://eve%d", n)) {
				}
			}()
		}, modest: func(t *testing.T, c *mcpclient.Client) {
			var changes atomic.Int32
			go func() {
				for _, err := range c.Watch(t.Context(), "note://bob") {
					if err == nil {
						changes.Add(1)
					}
				}
			}()
			time.Sleep(10 * time.Second)
			before := changes.Load()
			_, _ = c.Call[string](t.Context(), "a__change", greeting{"bob"})
			time.Sleep(time.Second)
			if got := changes.Load(); got <= before || before == 0 {
				t.Errorf("the modest client: got %d notifications, then %d, want one of the change", before, got)
			}
		}},
		{table: "named resources", clients: 140, each: 1, before: func(t *testing.T, c *mcpclient.Client) {
			_, _ = c.CallTool(t.Context(), "a__links", greeting{"bob"})
		}, greedy: func(t *testing.T, c *mcpclient.Client, n int) {
			_, _ = c.CallTool(t.Context(), "a__links", nil)
		}, modest: func(t *testing.T, c *mcpclient.Client) {
			read, err := c.ReadResource(t.Context(), "link://bob")
			if err != nil || read.Contents[0].Text != "linked" {
				t.Errorf("the modest client: got %+v, %v, want what a result has named", read, err)
			}
		}},
		{table: "unknown names", clients: 20, each: 3, before: hello, greedy: func(t *testing.T, c *mcpclient.Client, n int) {
			_, _ = c.Call[string](t.Context(), "a__hello", greeting{"Eve"})
			_, _ = c.CallTool(t.Context(), fmt.Sprint("a__guess", n), nil)
		}, modest: func(t *testing.T, c *mcpclient.Client) {
			_, _ = c.CallTool(t.Context(), "a__grow", nil)
			if got, err := c.CallTool(t.Context(), "a__late", nil); err != nil || got.IsError {
				t.Errorf("the modest client: got %+v, %v, want the lists read again for a new tool", got, err)
			}
		}},
		{table: "URL elicitations", clients: 2, each: 150, before: func(t *testing.T, c *mcpclient.Client) {
			_, _ = c.CallTool(t.Context(), "a__visit", greeting{"bob"})
		}, greedy: func(t *testing.T, c *mcpclient.Client, n int) {
			_, _ = c.CallTool(t.Context(), "a__visit", greeting{fmt.Sprintf("eve%09d", n)})
		}, modest: func(t *testing.T, c *mcpclient.Client) {
			was := completed.Load()
			_, _ = c.Call[string](t.Context(), "a__visited", greeting{"bob"})
			time.Sleep(time.Second)
			if completed.Load() == was {
				t.Error("the modest client: got no notifications/elicitation/complete")
			}
		}},
	} {
		for _, from := range []struct {
			name      string
			principal bool
		}{{"another principal", true}, {"another session of this machine", false}} {
			t.Run(tt.table+"/"+from.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(crowdedServer())})
					as := func(subject string) *mcpclient.Client {
						o := &mcpclient.Options{
							Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125},
							ElicitURL: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
								return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
							},
							OnNotification: func(_ context.Context, method string, _ jsonValue) {
								if subject == "bob" && method == mcp.NotificationElicitationComplete {
									completed.Add(1)
								}
							},
						}
						if from.principal {
							return mcptest.Connect(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}}, o)
						}
						return mcptest.Connect(t, g.Server(), o)
					}
					bob := as("bob")
					if tt.before != nil {
						tt.before(t, bob)
					}
					n := 0
					for range tt.clients {
						eve := as("eve")
						for range tt.each {
							tt.greedy(t, eve, n)
							n++
						}
						synctest.Wait()
					}
					tt.modest(t, bob)
				})
			})
		}
	}
}
