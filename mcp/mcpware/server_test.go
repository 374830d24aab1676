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
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

func TestRateLimitRefusesWhatComesTooSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := server(func(context.Context, number) (string, error) { return "ok", nil })
		s.Use(mcpware.RateLimit(mcp.Rate{PerSecond: 1, Burst: 1}, mcp.MethodToolsCall))
		c := connect(t, s)
		if _, err := c.CallTool(t.Context(), "tool", number{}); err != nil {
			t.Fatal(err)
		}
		_, err := c.CallTool(t.Context(), "tool", number{})
		e, _ := errors.AsType[*mcp.Error](err)
		if e == nil || e.Code != mcp.CodeRateLimited {
			t.Fatalf("got %v, want it refused", err)
		}
		for range c.Tools(t.Context()) {
		}
		wait, _ := e.RetryAfter()
		time.Sleep(wait + time.Millisecond)
		if _, err := c.CallTool(t.Context(), "tool", number{}); err != nil {
			t.Errorf("after %v: %v", wait, err)
		}
	})
}

func TestBulkheadKeepsRoomForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := server(func(context.Context, number) (string, error) {
			<-hold
			return "ok", nil
		})
		s.Use(mcpware.Bulkhead(1, time.Second, mcp.MethodToolsCall))
		c := connect(t, s)
		first := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "tool", number{})
			first <- err
		}()
		synctest.Wait()
		if _, err := c.CallTool(t.Context(), "tool", number{}); mcp.CodeOf(err) != mcp.CodeOverloaded {
			t.Errorf("the second: got %v, want it refused", err)
		}
		for _, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Errorf("another method: %v", err)
			}
		}
		close(hold)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

func TestTimeoutEndsAHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := mcpserver.New("s", "1", &mcpserver.Options{Logger: quiet})
		s.Handle("acme/slow", func(ctx context.Context, _ *mcpserver.Request) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		s.Use(mcpware.Timeout(time.Second, "acme/slow"))
		c := connect(t, s)
		if err := c.Request(t.Context(), "acme/slow", nil, nil); err == nil || !strings.Contains(err.Error(), "not done within 1s") {
			t.Errorf("got %v, want the time named", err)
		}
	})
}

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
		})
		s.Use(mcpware.Cache(time.Minute, "tool"))
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

func TestSpillSendsALinkInPlaceOfALargeResult(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	s := server(func(_ context.Context, in number) (string, error) { return long[:in.N], nil })
	s.Use(mcpware.Spill(s, &mcpware.SpillOptions{MaxResult: 500, MaxKept: 4}))
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

func TestAuditHearsOfBothEnds(t *testing.T) {
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
