package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A failure here means that a client whose headers are too long finds its
// connection reset, and does not learn why.
func TestHeadersThatAreTooLongAreAnswered(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := mcpserver.New("s", "1", nil)
	go func() { ended <- s.ServeListener(ctx, listener, s.HTTPHandler()) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { // while the server has already answered
		_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 1<<20))
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("got %v, want an answer", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body) // until the server closes
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || err != nil {
		t.Errorf("got %s %s, %v, want 431 and its end", resp.Status, text, err)
	}
}
