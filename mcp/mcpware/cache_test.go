package mcpware_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

type colour struct {
	Colour string `json:"colour"`
}

// Each tool asks in another way. The answers differ, and a result that was kept would have the
// first one.
func TestCacheKeepsNoResultOfACallThatAsked(t *testing.T) {
	t.Parallel()
	roots := map[string]mcp.InputRequest{"roots": {Method: mcp.MethodRootsList, Params: jsontext.Value("{}")}}
	ask := func(ctx context.Context) (string, error) {
		c, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
		return c.Colour, err
	}
	for name, register := range map[string]func(s *mcpserver.Server, cache mcpserver.ToolOption){
		"Ask": func(s *mcpserver.Server, cache mcpserver.ToolOption) {
			s.Tool("tool", "A tool", func(ctx context.Context, _ number) (string, error) { return ask(ctx) }, cache)
		},
		"ListRoots": func(s *mcpserver.Server, cache mcpserver.ToolOption) {
			s.Tool("tool", "A tool", func(ctx context.Context, _ number) (string, error) {
				var list []mcp.Root
				if err := mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &list)); err != nil {
					return "", err
				}
				return list[0].URI, nil
			}, cache)
		},
		"middleware of the tool": func(s *mcpserver.Server, cache mcpserver.ToolOption) {
			var answer string
			s.Tool("tool", "A tool", func(context.Context, number) (string, error) { return answer, nil }, cache,
				mcpserver.Wrap(func(next mcpserver.ToolHandler) mcpserver.ToolHandler {
					return func(ctx context.Context, p *mcp.CallToolParams) (_ mcp.Result, err error) {
						if answer, err = ask(ctx); err != nil {
							return nil, err
						}
						return next(ctx, p)
					}
				}))
		},
		"middleware of the server": func(s *mcpserver.Server, cache mcpserver.ToolOption) {
			var answer string
			s.Tool("tool", "A tool", func(context.Context, number) (string, error) { return answer, nil }, cache)
			s.Use(func(next mcpserver.Handler) mcpserver.Handler {
				return func(ctx context.Context, r *mcpserver.Request) (_ any, err error) {
					if r.Method() == mcp.MethodToolsCall {
						if answer, err = ask(ctx); err != nil {
							return nil, err
						}
					}
					return next(ctx, r)
				}
			})
		},
		"InputRequiredResult": func(s *mcpserver.Server, cache mcpserver.ToolOption) {
			s.AddTool(mcp.Tool{Name: "tool", InputSchema: jsontext.Value(`{"type":"object"}`)}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
				if answer, ok := p.InputResponses["roots"]; ok {
					return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(answer))}}, nil
				}
				return &mcp.InputRequiredResult{InputRequests: roots}, nil
			}, cache)
		},
		"Request.Call, where the revision has it": func(s *mcpserver.Server, cache mcpserver.ToolOption) {
			s.Tool("tool", "A tool", func(ctx context.Context, _ number) (string, error) {
				var list mcp.ListRootsResult
				if err := mcpserver.From(ctx).Call(ctx, mcp.MethodRootsList, nil, &list); err != nil {
					return ask(ctx)
				}
				return list.Roots[0].URI, nil
			}, cache)
		},
		"a declined question": func(s *mcpserver.Server, cache mcpserver.ToolOption) {
			s.Tool("tool", "A tool", func(ctx context.Context, _ number) (string, error) {
				c, err := mcpserver.Ask[colour](ctx, "colour", "decline?")
				if c.Colour == "" && err != nil && err != mcpserver.ErrInputRequired {
					return err.Error() + time.Now().String(), nil
				}
				return c.Colour, err
			}, cache)
		},
	} {
		for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			t.Run(name+" "+revision.String(), func(t *testing.T) {
				t.Parallel()
				s := mcpserver.New("s", "1", &mcpserver.Options{Logger: quiet})
				register(s, mcpware.Cache(time.Hour))
				answers := 0
				c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{
					Logger: quiet, Revisions: []mcp.Revision{revision},
					ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						answers++
						if p.Message == "decline?" {
							return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
						}
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(fmt.Sprintf(`{"colour":"%d"}`, answers))}, nil
					},
					Roots: func(context.Context) ([]mcp.Root, error) {
						answers++
						return []mcp.Root{{URI: fmt.Sprintf("file:///%d", answers)}}, nil
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				seen := make(map[string]bool)
				for range 3 {
					result, err := c.CallTool(t.Context(), "tool", number{1})
					if err != nil || result.IsError {
						t.Fatalf("got %v, %v", result, err)
					}
					seen[result.Content.Text()] = true
				}
				if len(seen) != 3 || answers != 3 {
					t.Errorf("got the results %v of %d answers, want one for each of 3 calls", seen, answers)
				}
			})
		}
	}
}

// Scopes that differ in their order or repeat are the same set.
func TestCacheComparesScopesAsSets(t *testing.T) {
	t.Parallel()
	runs := 0
	s := server(func(context.Context, number) (number, error) {
		runs++
		return number{runs}, nil
	}, mcpware.Cache(time.Hour))
	for _, test := range []struct {
		scopes []string
		run    int
	}{
		{[]string{"read", "write"}, 1},
		{[]string{"write", "read"}, 1},
		{[]string{"read", "write", "read"}, 1},
		{[]string{"read"}, 2},
		{[]string{"read", "read"}, 2},
		{[]string{"read write"}, 3},
		{nil, 4},
		{[]string{}, 4},
		{[]string{""}, 5},
	} {
		ours, theirs := memory.Pair()
		go func() {
			_ = s.ServeConn(context.WithoutCancel(t.Context()), theirs, mcpserver.ConnOptions{
				Identity: &mcp.Identity{Principal: mcp.Principal{Issuer: "test", Subject: "ada"}, Scopes: test.scopes},
			})
		}()
		c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(ours), &mcpclient.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Call[number](t.Context(), "tool", number{1}); err != nil || got.N != test.run {
			t.Errorf("%q: got the result of run %d, %v, want that of run %d", test.scopes, got.N, err, test.run)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A caller chooses the arguments, and so how many results are kept, and how large they are.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	type size struct{ N, Bytes int }
	calls := make(map[size]int)
	s := mcpserver.New("test", "1", nil)
	s.Tool("text", "A text", func(_ context.Context, in size) (string, error) {
		calls[in]++
		return strings.Repeat("x", in.Bytes), nil
	}, mcpware.Cache(time.Hour))
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func(n, bytes, want int) {
		t.Helper()
		in := size{n, bytes}
		if _, err := c.Call[string](t.Context(), "text", in); err != nil {
			t.Fatal(err)
		}
		if calls[in] != want {
			t.Errorf("text %d of %d bytes: got %d calls of the tool, want %d", n, bytes, calls[in], want)
		}
	}
	call(0, 5<<20, 1)
	call(0, 5<<20, 2) // too large
	for n := range 6 {
		call(n, 3<<20, 1)
	}
	call(5, 3<<20, 1)
	call(0, 3<<20, 2) // dropped for the sixth
	for n := range 1024 {
		call(n, 1, 1)
	}
	call(5, 3<<20, 2)
	call(1023, 1, 1)
}
