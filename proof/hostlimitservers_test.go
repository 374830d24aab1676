//go:build (hostile || load) && linux

package proof

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// pagesOf returns middleware that answers a list request with pages. page returns the entries of
// the page of that number, or nil after the last one.
func pagesOf(s *mcpserver.Server, method string, page func(n int) any) {
	s.Use(func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if r.Method() != method {
				return next(ctx, r)
			}
			var p mcp.ListParams
			if err := r.Decode(&p); err != nil {
				return nil, err
			}
			n := 0
			if p.Cursor != nil {
				n, _ = strconv.Atoi(*p.Cursor)
			}
			var following *string
			if page(n+1) != nil {
				following = new(strconv.Itoa(n + 1))
			}
			switch entries := page(n).(type) {
			case []mcp.Tool:
				return &mcp.ListToolsResult{Tools: entries, NextCursor: following}, nil
			case []mcp.Resource:
				return &mcp.ListResourcesResult{Resources: entries, NextCursor: following}, nil
			case []mcp.Prompt:
				return &mcp.ListPromptsResult{Prompts: entries, NextCursor: following}, nil
			}
			return nil, fmt.Errorf("no page %d", n)
		}
	})
}

// toolsOf returns tools with descriptions of that many bytes.
func toolsOf(prefix string, n, size int) []mcp.Tool {
	all := make([]mcp.Tool, n)
	for i := range all {
		all[i] = mcp.Tool{Name: fmt.Sprintf("%s%d", prefix, i), Description: strings.Repeat("x", size), InputSchema: []byte(`{"type":"object"}`)}
	}
	return all
}

// greedyServer returns a server with one tool "do".
func greedyServer(o *mcpserver.Options, do func(context.Context) (mcp.Result, error)) *mcpserver.Server {
	s := mcpserver.New("greedy", "1", o)
	s.AddTool(mcp.Tool{Name: "do", InputSchema: []byte(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolParams) (mcp.Result, error) {
		if do == nil {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("done")}}, nil
		}
		return do(ctx)
	})
	return s
}

// markHanging creates a file for a call that does not end, in the home of the user.
func markHanging() error {
	f, err := os.CreateTemp(os.Getenv("HOME"), hangingFiles)
	if err != nil {
		return err
	}
	return f.Close()
}

const hangingFiles = "hanging-*"

func init() {
	listing := func(method string, page func(int) any) func() *mcpserver.Server {
		return func() *mcpserver.Server {
			s := greedyServer(&mcpserver.Options{Dynamic: true}, nil)
			pagesOf(s, method, page)
			return s
		}
	}
	upTo := func(n int, page func(int) any) func(int) any {
		return func(i int) any {
			if i >= n {
				return nil
			}
			return page(i)
		}
	}
	hostileServers["large texts"] = listing(mcp.MethodToolsList, upTo(2, func(i int) any { return toolsOf(fmt.Sprint("t", i, "_"), 9, 1<<20) }))
	hostileServers["large pages"] = listing(mcp.MethodToolsList, upTo(60, func(i int) any { return toolsOf(fmt.Sprint("t", i, "_"), 140, 60_000) }))
	hostileServers["many prompts"] = listing(mcp.MethodPromptsList, upTo(60, func(i int) any {
		all := make([]mcp.Prompt, 1000)
		for j := range all {
			all[j] = mcp.Prompt{Name: fmt.Sprint("p", i, "_", j), Description: strings.Repeat("x", 500)}
		}
		return all
	}))
	hostileServers["large resources"] = listing(mcp.MethodResourcesList, upTo(60, func(i int) any {
		all := make([]mcp.Resource, 100)
		for j := range all {
			all[j] = mcp.Resource{URI: fmt.Sprint("note://", i, "/", j, strings.Repeat("x", 50_000)), Name: "n"}
		}
		return all
	}))
	hostileServers["endless pages"] = listing(mcp.MethodToolsList, func(i int) any { return toolsOf(fmt.Sprint("t", i, "_"), 1, 10) })
	hostileServers["long instructions"] = func() *mcpserver.Server {
		return greedyServer(&mcpserver.Options{Instructions: strings.Repeat("Do as I say. ", 1<<20)}, nil)
	}
	hostileServers["large errors"] = func() *mcpserver.Server {
		return greedyServer(nil, func(context.Context) (mcp.Result, error) {
			return nil, &mcp.Error{Code: mcp.CodeInternal, Message: strings.Repeat("x", 9<<20)}
		})
	}
	hostileServers["large links"] = func() *mcpserver.Server {
		return greedyServer(nil, func(context.Context) (mcp.Result, error) {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.ResourceLink{Resource: mcp.Resource{URI: "note://" + strings.Repeat("x", 6<<20), Name: "n"}}}}, nil
		})
	}
	hostileServers["many links"] = func() *mcpserver.Server {
		var links mcp.Contents
		for range 100_000 {
			links = append(links, mcp.ResourceLink{Resource: mcp.Resource{URI: "e:1", Name: "a"}})
		}
		s := greedyServer(nil, func(context.Context) (mcp.Result, error) { return &mcp.CallToolResult{Content: links}, nil })
		for i := range 10_000 {
			s.AddTemplate(mcp.ResourceTemplate{URITemplate: fmt.Sprintf("e:{a}/x%04d", i), Name: "t"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
				return nil, mcpserver.ErrNotFound
			})
		}
		return s
	}
	hostileServers["large elicitations"] = func() *mcpserver.Server {
		return greedyServer(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}}, func(context.Context) (mcp.Result, error) {
			return nil, mcpserver.URLElicitationRequired("Please sign in.", "https://example.com/"+strings.Repeat("x", 6<<20))
		})
	}
	hostileServers["restless"] = func() *mcpserver.Server {
		s := greedyServer(nil, nil)
		go func() {
			for n := 0; ; n++ {
				s.BatchChanges(func() {
					for _, tool := range toolsOf("t", 400, 1000+n) {
						_ = s.SetTool(tool, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, nil })
					}
				})
				time.Sleep(10 * time.Millisecond)
			}
		}()
		return s
	}
	hostileServers["hanging"] = func() *mcpserver.Server {
		s := greedyServer(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}}, func(ctx context.Context) (mcp.Result, error) {
			if err := markHanging(); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		s.Tool("greet", "Greet", func(context.Context, struct{}) (string, error) { return "hello", nil })
		return s
	}
}
