package exchange_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMain(m *testing.M) { leak.Main(m) }

// wire is the client's end of a connection to a server.
type wire struct {
	*testing.T
	mcp.Conn
}

// connect serves one connection and opens a session of the revision on it.
func connect(t *testing.T, s *mcpserver.Server, revision string) wire {
	t.Helper()
	return connectWith(t, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, revision))
}

// connectWith serves one connection and opens a session on it with the request.
func connectWith(t *testing.T, s *mcpserver.Server, initialize string) wire {
	t.Helper()
	ours, theirs := memory.Pair()
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), theirs) }()
	t.Cleanup(func() {
		_ = ours.Close()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	w := wire{t, ours}
	w.send("%s", initialize)
	w.read()
	return w
}

func (w wire) send(format string, args ...any) {
	w.Helper()
	if err := w.Write(w.Context(), fmt.Appendf(nil, format, args...)); err != nil {
		w.Fatal(err)
	}
}

func (w wire) read() string {
	w.Helper()
	msg, err := w.Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return string(msg)
}

func (w wire) expect(want string) {
	w.Helper()
	if got := w.read(); got != want {
		w.Errorf("got  %s\nwant %s", got, want)
	}
}

func newServer() *mcpserver.Server {
	s := mcpserver.New("test", "1", nil)
	s.Tool("echo", "", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (string, error) {
		return in.Text, nil
	})
	return s
}

func TestBatchIsAnsweredItemByItem(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-010a", "R-011")
	w := connect(t, newServer(), "2025-03-26")
	w.send(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}},` +
		`{"jsonrpc":"2.0","method":"notifications/initialized"},` +
		`{"jsonrpc":"2.0","id":2},` +
		`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}},` +
		`{"jsonrpc":"2.0","id":4,"method":"ping"}]`)
	w.expect(`[{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}},` +
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"decode: a message has either a method, or a result, or an error"}},` +
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"initialize: not in a batch"}},` +
		`{"jsonrpc":"2.0","id":4,"result":{}}]`)
}

// A notification finds the requests before it, however quickly the two follow.
func TestCancellationInABatchFindsTheRequestBeforeIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-010a")
	srv := newServer()
	srv.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	w := connect(t, srv, "2025-03-26")
	for range 100 {
		w.send(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}},` +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}},` +
			`{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
		w.expect(`[{"jsonrpc":"2.0","id":2,"result":{}}]`)
	}
}

func TestBatchWithoutRequestsHasNoAnswer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-009b", "R-010a")
	w := connect(t, newServer(), "2025-03-26")
	w.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	w.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

func TestBatchIsRefusedWhereTheRevisionHasNone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-012")
	for _, revision := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		w := connect(t, newServer(), revision)
		w.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)
		w.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"decode: a batch: want one message; this session has no batches"}}`)
	}
}

// A failure here means that a client can make a server start any number of
// goroutines, or that it cannot cancel what it has started.
func TestRequestsBeyondTheBoundAreRefusedAndCanStillBeCancelled(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c", "R-281a")
	const bound = 1024
	started := make(chan struct{}, bound)
	s := mcpserver.New("test", "1", nil)
	s.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	w := connect(t, s, "2025-11-25")
	for id := range bound {
		w.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`, id+1)
	}
	for range bound {
		<-started
	}
	w.send(`{"jsonrpc":"2.0","id":5000,"method":"ping"}`)
	if got := w.read(); !strings.Contains(got, `"id":5000,"error":{"code":429`) || !strings.Contains(got, "retryAfterMs") {
		t.Errorf("got %s, want an error that says when to try again", got)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	for got := ""; got != `{"jsonrpc":"2.0","id":5001,"result":{}}`; got = w.read() { // until a place is free
		w.send(`{"jsonrpc":"2.0","id":5001,"method":"ping"}`)
	}
}

// A failure here means that a client that sends and never reads can make a server
// hold any number of replies.
func TestRequestsOfAClientThatDoesNotReadAreNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, newServer(), "2025-11-25")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		taken := 0
		for ; taken < 10_000; taken++ {
			if err := w.Write(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, taken+1)); err != nil {
				break
			}
		}
		if taken > 3000 {
			t.Errorf("%d requests were taken while nothing was read, want at most about 2,048 and what the pipe holds", taken)
		}
		for range taken {
			w.read()
		}
		w.send(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
		w.expect(`{"jsonrpc":"2.0","id":"last","result":{}}`)
	})
}
