package mcpware_test

import (
	"context"
	"encoding/json/v2"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

func TestCacheAnswersByPrincipalToolAndArguments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := server(func(_ context.Context, in number) (number, error) {
			runs++
			if in.N < 0 {
				return number{}, errors.New("negative")
			}
			return number{runs}, nil
		}, mcpware.Cache(time.Minute))
		c := connect(t, s)
		call := func(n int) int {
			out, _ := c.Call[number](t.Context(), "tool", number{n})
			return out.N
		}
		if a, b, other := call(1), call(1), call(2); a != 1 || b != 1 || other != 2 {
			t.Errorf("got %d, %d and %d of the runs, want 1, 1 and 2", a, b, other)
		}
		call(-1)
		call(-1)
		if runs != 4 {
			t.Errorf("got %d runs, want failures to run again", runs)
		}
		time.Sleep(time.Minute)
		if again := call(1); again != 5 {
			t.Errorf("got run %d after a minute, want the fifth", again)
		}
	})
}

// TestCacheNeverAnswersForAToolThatTheCallerCannotReach fills the cache first.
func TestCacheNeverAnswersForAToolThatTheCallerCannotReach(t *testing.T) {
	t.Parallel()
	cached := func(text string, opts ...mcpserver.ToolOption) (tool func(context.Context, number) (string, error), all []mcpserver.ToolOption) {
		return func(context.Context, number) (string, error) { return text, nil }, append(opts, mcpware.Cache(time.Hour))
	}
	for _, test := range []struct {
		name   string
		change func(s *mcpserver.Server)
		want   string // the text of the answer, empty for an error
	}{
		{"removed", func(s *mcpserver.Server) { s.RemoveTool("tool") }, ""},
		{"switched off", func(s *mcpserver.Server) { s.EnableTool("tool", false) }, ""},
		{"replaced", func(s *mcpserver.Server) {
			tool, opts := cached("second")
			_ = s.ReplaceTool("tool", "A tool", tool, opts...)
		}, "second"},
		{"hidden", func(s *mcpserver.Server) {
			tool, opts := cached("second", mcpserver.Visible(func(*mcp.Identity) bool { return false }))
			_ = s.ReplaceTool("tool", "A tool", tool, opts...)
		}, ""},
		{"removed and registered again", func(s *mcpserver.Server) {
			s.RemoveTool("tool")
			tool, opts := cached("second")
			s.Tool("tool", "A tool", tool, opts...)
		}, "second"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tool, opts := cached("first")
			s := server(tool, opts...)
			c := connect(t, s)
			if got, err := c.Call[string](t.Context(), "tool", number{1}); err != nil || got != "first" {
				t.Fatalf("got %q, %v", got, err)
			}
			test.change(s)
			got, err := c.Call[string](t.Context(), "tool", number{1})
			if got != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestCacheBelongsToTheScopesOfACaller has visibility and scopes depend on the caller:
// one of them fills the cache, which does not answer the other.
func TestCacheBelongsToTheScopesOfACaller(t *testing.T) {
	t.Parallel()
	tool := func(ctx context.Context, in number) (string, error) {
		if in.N > 1 {
			if err := mcpserver.From(ctx).RequireScopes("write"); err != nil {
				return "", err
			}
		}
		return "secret", nil
	}
	s := server(tool, mcpserver.Scopes("read"), mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal.Subject != "mallory" }), mcpware.Cache(time.Hour))
	as := func(subject string, scopes ...string) *mcpclient.Client {
		target := mcpclient.Dial(func(ctx context.Context) (mcp.Conn, error) {
			ours, theirs := memory.Pair()
			go func() {
				_ = s.ServeConn(context.WithoutCancel(ctx), theirs, mcpserver.ConnOptions{Identity: &mcp.Identity{Principal: mcp.Principal{Issuer: "test", Subject: subject}, Scopes: scopes}})
			}()
			return ours, nil
		})
		c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	for _, test := range []struct {
		name string
		c    *mcpclient.Client
		n    int
		ok   bool
	}{
		{"all scopes", as("ada", "read", "write"), 2, true},
		{"without the scope that the arguments need", as("ada", "read"), 2, false},
		{"all scopes, other arguments", as("ada", "write", "read"), 1, true},
		{"without the scope of the tool", as("ada", "write"), 1, false},
		{"hidden", as("mallory", "read", "write"), 1, false},
	} {
		if _, err := test.c.Call[string](t.Context(), "tool", number{test.n}); (err == nil) != test.ok {
			t.Errorf("%s: got %v, want success %t", test.name, err, test.ok)
		}
	}
}

func TestStoreLargeResultsSendsALinkInPlaceOfALargeResult(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	s := server(func(_ context.Context, in number) (string, error) { return long[:in.N], nil })
	s.Use(mcpware.StoreLargeResults(s, &mcpware.LargeResultOptions{MaxResult: 500, MaxKept: 4}))
	c := connect(t, s)
	small, err := c.CallTool(t.Context(), "tool", number{10})
	if err != nil || small.Content.Text() != long[:10] {
		t.Fatalf("a small result: got %v, %v, want it whole", small, err)
	}
	large, err := c.CallTool(t.Context(), "tool", number{1000})
	if err != nil || len(large.Content) != 2 {
		t.Fatalf("a large result: got %v, %v, want a text and a link", large, err)
	}
	link, _ := large.Content[1].(mcp.ResourceLink)
	read, err := c.ReadResource(t.Context(), link.URI)
	if err != nil || len(read.Contents) != 1 {
		t.Fatalf("the link %q: got %v, %v, want its content", link.URI, read, err)
	}
	var whole mcp.CallToolResult
	if err := json.Unmarshal([]byte(read.Contents[0].Text), &whole); err != nil || whole.Content.Text() != long {
		t.Errorf("got %q, %v, want the whole result", read.Contents[0].Text, err)
	}
	if _, err := c.ReadResource(t.Context(), link.URI+"x"); mcp.CodeOf(err) == "" {
		t.Error("another id is found")
	}
	for range 4 {
		large, err = c.CallTool(t.Context(), "tool", number{1000})
	}
	if err != nil || !large.IsError || !strings.Contains(large.Content.Text(), "Ask for less") {
		t.Errorf("without room: got %v, %v, want the model told", large, err)
	}
}

// TestStoreLargeResultsLeavesTheResultOfATypedToolValid relies on the client, which checks
// structured content against the output schema.
func TestStoreLargeResultsLeavesTheResultOfATypedToolValid(t *testing.T) {
	t.Parallel()
	type found struct {
		Lines []string `json:"lines"`
	}
	s := server(func(context.Context, number) (found, error) {
		return found{[]string{strings.Repeat("x", 1000)}}, nil
	})
	s.Use(mcpware.StoreLargeResults(s, &mcpware.LargeResultOptions{MaxResult: 500}))
	c := connect(t, s)
	for range c.Tools(t.Context()) {
	}
	out, err := c.Call[found](t.Context(), "tool", number{})
	if err != nil || len(out.Lines) != 1 || len(out.Lines[0]) != 1000 {
		t.Errorf("got %v, %v, want the structured content", out, err)
	}
	result, err := c.CallTool(t.Context(), "tool", number{})
	if err != nil || result.IsError || len(result.Content) != 2 || strings.Contains(result.Content.Text(), "xxx") {
		t.Errorf("got %v, %v, want a text and a link", result, err)
	}
}

// TestStoredResultsAreReadOnEveryReplica has a result of several pieces.
func TestStoredResultsAreReadOnEveryReplica(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long \"text\" ", 300<<10)[:3<<20]
	o := &mcpserver.Options{Logger: quiet, Store: new(mcpserver.MemoryStore)}
	replica := func() *mcpclient.Client {
		s := mcpserver.New("s", "1", o)
		s.Tool("tool", "A tool", func(context.Context, number) (string, error) { return long, nil })
		s.Use(mcpware.StoreLargeResults(s, nil))
		return connect(t, s)
	}
	result, err := replica().CallTool(t.Context(), "tool", number{})
	if err != nil || len(result.Content) != 2 {
		t.Fatalf("got %d, %v, want a text and a link", len(result.Content), err)
	}
	read, err := replica().ReadResource(t.Context(), result.Content[1].(mcp.ResourceLink).URI)
	if err != nil {
		t.Fatal(err)
	}
	var whole mcp.CallToolResult
	if err := json.Unmarshal([]byte(read.Contents[0].Text), &whole); err != nil || whole.Content.Text() != long {
		t.Errorf("got %d bytes, %v, want the whole result", len(read.Contents[0].Text), err)
	}
}

func TestAuditRecordsCallsOfServerAndClient(t *testing.T) {
	t.Parallel()
	var at, from []mcpware.Entry
	s := server(func(context.Context, number) (string, error) { return "", errors.New("broken") })
	s.Use(mcpware.Audit(func(_ context.Context, e mcpware.Entry) { at = append(at, e) }))
	c := connect(t, s)
	c.Use(mcpware.AuditClient(func(_ context.Context, e mcpware.Entry) { from = append(from, e) }))
	_, _ = c.CallTool(t.Context(), "tool", number{})
	_, _ = c.CallTool(t.Context(), "none", number{})
	if n := len(at); n < 2 || !at[n-2].Failed || at[n-2].Name != "tool" || at[n-1].Name != "none" || at[n-1].Err == nil || at[n-1].Principal != mcp.PrincipalLocal {
		t.Errorf("the server: got %+v, want a tool that failed and one that is unknown", at)
	}
	if len(from) != 2 || !from[0].Failed || from[0].Name != "tool" || mcp.CodeOf(from[1].Err) != mcp.CodeInvalidParams {
		t.Errorf("the client: got %+v, want the same", from)
	}
}
