package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// serve serves the fixture and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	srv := mcptest.NewServer(nil)
	web := httptest.NewServer(handler(srv))
	t.Cleanup(func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		web.Close()
	})
	return "ws" + strings.TrimPrefix(web.URL, "http")
}

func TestEveryRevisionOverWebSocket(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			mcptest.TestTransport(t, target(serve(t)), v)
		})
	}
}

func TestForeignOriginsAndHostsAreRefused(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, test := range []struct {
		name, host, origin string
	}{
		{"page of another origin", "", "https://evil.example.com"},
		{"name of another machine", "evil.example.com:80", ""},
		{"rebound name", "evil.example.com", "http://evil.example.com"},
	} {
		header := make(http.Header)
		if test.origin != "" {
			header.Set("Origin", test.origin)
		}
		ws, response, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Host: test.host, HTTPHeader: header})
		if err == nil {
			_ = ws.CloseNow()
			t.Errorf("%s: got a connection, want 403", test.name)
			continue
		}
		if response == nil || response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: got %v, want 403", test.name, err)
		}
	}
}

func TestBinaryMessageIsRefusedAndTheConnectionContinues(t *testing.T) {
	t.Parallel()
	ws, _, err := websocket.Dial(t.Context(), serve(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(ws)
	defer c.Close()
	if err := ws.Write(t.Context(), websocket.MessageBinary, []byte{1, 2}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a binary message", `"result":{}`} {
		if msg, err := c.Read(t.Context()); err != nil || !strings.Contains(string(msg), want) {
			t.Errorf("got %s, %v, want %s", msg, err, want)
		}
		if err := c.Write(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancelledCallKeepsTheConnection(t *testing.T) {
	t.Parallel()
	c, err := mcpclient.Connect(t.Context(), target(serve(t)), &mcpclient.Options{NoRestart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.CallTool(ctx, "wait", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the time is over", err)
	}
	if _, err := c.CallTool(t.Context(), "echo", map[string]string{"text": "still here"}); err != nil {
		t.Errorf("got %v, want an answer on the same connection", err)
	}
}

func TestPeerReadsACloseFrame(t *testing.T) {
	t.Parallel()
	accepted := make(chan conn, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Errorf("accept: %v", err)
			return
		}
		accepted <- newConn(ws)
	}))
	defer web.Close()
	ws, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := newConn(ws), <-accepted
	closed := make(chan error)
	go func() { closed <- ours.Close() }()
	if msg, err := theirs.Read(t.Context()); err != io.EOF {
		t.Errorf("got %s, %v, want io.EOF", msg, err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: got %v, want nil", err)
	}
	for _, c := range []conn{ours, theirs} {
		if err := c.Close(); err != nil {
			t.Errorf("another close: got %v, want nil", err)
		}
	}
}
