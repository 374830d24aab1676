//go:build !race

// The race detector makes sync.Pool forget at random, so that there is nothing
// to count.

package mcpclient_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// canned is a connection to a server that has one answer, and allocates it.
type canned struct{ answers chan []byte }

func (c *canned) Read(ctx context.Context) ([]byte, error) {
	select {
	case answer, open := <-c.answers:
		if !open {
			return nil, io.EOF
		}
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *canned) Write(_ context.Context, msg []byte) error {
	result := `{"resultType":"complete","content":[{"type":"text","text":"hello"}]}`
	if bytes.Contains(msg, []byte("server/discover")) {
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	}
	_, id, _ := bytes.Cut(msg, []byte(`"id":`))
	id, _, _ = bytes.Cut(id, []byte{','})
	answer := append(make([]byte, 0, 256), `{"jsonrpc":"2.0","id":`...)
	answer = append(append(answer, id...), `,"result":`...)
	c.answers <- append(append(answer, result...), '}')
	return nil
}

func (c *canned) Close() error { return nil }

func TestCallAllocatesLittle(t *testing.T) {
	conn := &canned{answers: make(chan []byte, 1)}
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	defer close(conn.answers)
	args := struct {
		Text string `json:"text"`
	}{"hello"}
	allocs := testing.AllocsPerRun(200, func() {
		if got, err := c.Call[string](t.Context(), "echo", args); err != nil || got != "hello" {
			t.Fatal(got, err)
		}
	})
	const ceiling = 20 // of which one is the answer
	if allocs > ceiling {
		t.Errorf("got %v allocations, want at most %v", allocs, ceiling)
	}
}
