package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestAmbiguousRequestsAreReadAsDocumented sends what two servers in a row could read
// differently (request smuggling). docs/limits.md says what net/http makes of it.
func TestAmbiguousRequestsAreReadAsDocumented(t *testing.T) {
	t.Parallel()
	const (
		hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
		head  = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
		first = "POST /mcp HTTP/1.1\r\n"
	)
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hello), hello)
	p := newPipes()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	srv := newServer(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{LameDuck: time.Millisecond, AllowedHosts: []string{"localhost"}}})
	go func() { served <- srv.ServeListener(ctx, p, routes(srv)) }()
	defer func() { stop(); <-served }()
	for name, tt := range map[string]struct {
		request string
		want    int
	}{
		"one length":               {first + "Host: localhost\r\n" + head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hello)) + hello, 200},
		"chunks win over a length": {first + "Host: localhost\r\n" + head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, 200},
		"two lengths":              {first + "Host: localhost\r\n" + head + fmt.Sprintf("Content-Length: %d\r\nContent-Length: 4\r\n\r\n", len(hello)) + hello, 400},
		"two transfer codings":     {first + "Host: localhost\r\n" + head + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks, 501},
		"two hosts":                {first + "Host: localhost\r\nHost: evil.example\r\n" + head + "\r\n", 400},
		"no host":                  {first + head + "\r\n", 400},
		"folded type":              {first + "Host: localhost\r\nContent-Type: text/plain;\r\n application/json\r\nContent-Length: 0\r\n\r\n", 415},
		"host of the target wins":  {"POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\n" + head + "Content-Length: 0\r\n\r\n", 403},
		"blank before the colon":   {first + "Host: localhost\r\n" + head + "Content-Length : 4\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := p.dial(ctx, "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() {
				_, _ = io.Copy(conn, strings.NewReader(tt.request+"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
			}()
			in := bufio.NewReader(conn)
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tt.want {
				t.Errorf("got status %d %s, want %d", response.StatusCode, body, tt.want)
			}
			if response.Close {
				return // what follows belongs to no request
			}
			if next, err := http.ReadResponse(in, nil); err != nil || next.StatusCode != http.StatusOK {
				t.Errorf("got %v and %v for the request that follows, want 200", next, err)
			}
		})
	}
}
