package mcpware_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

func TestRetrySendsAgainWhatIsSafe(t *testing.T) {
	t.Parallel()
	lost := &mcpclient.MayHaveRunError{Err: &mcpclient.LostError{Err: io.ErrUnexpectedEOF}}
	busy := mcp.PeerRetryLaterf(mcp.CodeOverloaded, 3*time.Second, "busy")
	for _, tt := range []struct {
		name string
		o    *mcpware.RetryOptions
		opts []mcpserver.ToolOption
		errs []error
		want int // attempts
	}{
		{"lost, a tool that may do harm", nil, nil, []error{lost}, 1},
		{"lost, a tool that reads", nil, []mcpserver.ToolOption{mcpserver.ReadOnly()}, []error{lost}, 2},
		{"lost, an idempotent tool", nil, []mcpserver.ToolOption{mcpserver.Idempotent()}, []error{lost, lost}, 3},
		{"lost for good", nil, []mcpserver.ToolOption{mcpserver.ReadOnly()}, []error{lost, lost, lost, lost}, 3},
		{"lost, hints are not trusted", &mcpware.RetryOptions{NoHints: true}, []mcpserver.ToolOption{mcpserver.ReadOnly()}, []error{lost}, 1},
		{"lost, a tool that is named", &mcpware.RetryOptions{Idempotent: []string{"tool"}}, nil, []error{lost}, 2},
		{"refused before it began", nil, nil, []error{busy}, 2},
		{"refused for too long", &mcpware.RetryOptions{MaxPause: time.Second}, nil, []error{busy}, 1},
		{"an error as answer", nil, []mcpserver.ToolOption{mcpserver.ReadOnly()}, []error{mcp.Errorf(mcp.CodeInvalidParams, "no")}, 1},
		{"a gateway in between", nil, []mcpserver.ToolOption{mcpserver.ReadOnly()}, []error{&mcpclient.MayHaveRunError{Err: &mcpclient.HTTPError{Status: 502}}}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, server(func(context.Context, number) (string, error) { return "ok", nil }, tt.opts...))
			attempts := 0
			c.Use(mcpware.Retry(tt.o), failing(&attempts, tt.errs...))
			for range c.Tools(t.Context()) {
			}
			_, err := c.CallTool(t.Context(), "tool", number{})
			if attempts != tt.want || (err == nil) != (len(tt.errs) < tt.want) {
				t.Errorf("%s: got %d attempts, %v, want %d", tt.name, attempts, err, tt.want)
			}
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, server(func(context.Context, number) (string, error) { return "ok", nil }))
		attempts := 0
		c.Use(mcpware.Retry(nil), failing(&attempts, mcp.PeerRetryLaterf(mcp.CodeRateLimited, 5*time.Second, "busy")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.CallTool(ctx, "tool", number{}); mcp.CodeOf(err) != mcp.CodeRateLimited || attempts != 1 {
			t.Errorf("got %v after %d attempts, want what the server said after one", err, attempts)
		}
	})
}

func TestBreakerStopsCallsToAFailingServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, server(func(context.Context, number) (string, error) { return "ok", nil }))
		lost := &mcpclient.MayHaveRunError{Err: &mcpclient.LostError{Err: io.ErrUnexpectedEOF}}
		no := mcp.Errorf(mcp.CodeInvalidParams, "no")
		var changes []bool
		attempts := 0
		c.Use(mcpware.Breaker(&mcpware.BreakerOptions{Failures: 2, OnChange: func(open bool) { changes = append(changes, open) }}),
			failing(&attempts, lost, no, lost, context.Canceled, lost))
		call := func() error {
			_, err := c.CallTool(t.Context(), "tool", number{})
			return err
		}
		for range 5 {
			if err := call(); errors.Is(err, mcpware.ErrBreakerOpen) {
				t.Fatalf("attempt %d: open too early", attempts)
			}
		}
		if err := call(); !errors.Is(err, mcpware.ErrBreakerOpen) || attempts != 5 {
			t.Errorf("got %v, %d attempts, want the sixth left out", err, attempts)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if err := call(); err != nil || attempts != 6 {
			t.Errorf("ten seconds later: got %v, %d attempts, want it sent", err, attempts)
		}
		if len(changes) != 2 || !changes[0] || changes[1] {
			t.Errorf("got the changes %v, want open and closed", changes)
		}
	})
}
