package exchange_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// requestCore is a Core that does requests and nothing else.
type requestCore struct {
	exchange.Core
	request func(ctx context.Context) dialect.Reply
	reached func(mcp.LimitReached)
}

func (c requestCore) Request(ctx context.Context, _ *exchange.Inbound) dialect.Reply {
	return c.request(ctx)
}

func (c requestCore) LimitReached(e mcp.LimitReached) {
	if c.reached != nil {
		c.reached(e)
	}
}

func inbound(id int64) *exchange.Inbound {
	return &exchange.Inbound{Message: jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.NumberID(id), Method: "ping"}}
}

func TestRequestCanBeCancelledBeforeItsHandlerRuns(t *testing.T) {
	t.Parallel()
	var s exchange.Session
	core := requestCore{request: func(ctx context.Context) dialect.Reply {
		return dialect.Reply{Body: fmt.Append(nil, ctx.Err())}
	}}
	run := s.Begin(t.Context(), core, inbound(1))
	if !s.Running.Cancel(jsonrpc.NumberID(1), context.Canceled) {
		t.Fatal("the cancellation did not find the request")
	}
	reply, wanted := run()
	if wanted || string(reply.Body) != "context canceled" {
		t.Errorf("got %s, wanted %v, want a cancelled context and no reply", reply.Body, wanted)
	}
	if s.Running.Len() != 0 {
		t.Errorf("got %d requests running, want none", s.Running.Len())
	}
}

func TestRequestThatCannotRunIsRefused(t *testing.T) {
	t.Parallel()
	var s exchange.Session
	var reached []mcp.LimitReached
	core := requestCore{
		request: func(context.Context) dialect.Reply { return dialect.Reply{Body: []byte("done")} },
		reached: func(e mcp.LimitReached) { reached = append(reached, e) },
	}
	runs := []exchange.Run{s.Begin(t.Context(), core, inbound(0))}
	if reply, wanted := s.Begin(t.Context(), core, inbound(0))(); !wanted || !strings.Contains(string(reply.Body), "a request with this id is running") {
		t.Errorf("an id in use: got %s, wanted %v, want a refusal", reply.Body, wanted)
	}
	for id := int64(1); id < 1024; id++ {
		runs = append(runs, s.Begin(t.Context(), core, inbound(id)))
	}
	if reply, wanted := s.Begin(t.Context(), core, inbound(1024))(); !wanted || !strings.Contains(string(reply.Body), "more than 1024 requests") {
		t.Errorf("one too many: got %s, wanted %v, want a refusal", reply.Body, wanted)
	}
	if want := (mcp.LimitReached{Limit: mcp.LimitSessionCalls, Method: "ping"}); len(reached) != 1 || reached[0] != want {
		t.Errorf("got %v told, want %v once", reached, want)
	}
	for _, run := range runs {
		if reply, wanted := run(); !wanted || string(reply.Body) != "done" {
			t.Fatalf("got %s, wanted %v, want the reply", reply.Body, wanted)
		}
	}
	if s.Running.Len() != 0 {
		t.Errorf("got %d requests running at the end, want none", s.Running.Len())
	}
}
