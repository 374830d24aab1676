//go:build !race

// The race detector makes sync.Pool forget at random, so that there is nothing
// to count.

package mcptest_test

import (
	"context"
	"net"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// lines returns two connected ends that carry messages as lines.
func lines() (a, b mcp.Conn) {
	left, right := net.Pipe()
	return stdio.New(left, left, left, nil), stdio.New(right, right, right, nil)
}

func TestACallBetweenAClientAndAServerAllocatesLittle(t *testing.T) {
	type text struct {
		Text string `json:"text"`
	}
	for _, over := range []struct {
		name    string
		pair    func() (a, b mcp.Conn)
		ceiling float64 // both ends together
	}{
		{"memory", memory.Pair, 45},
		{"lines", lines, 51},
	} {
		t.Run(over.name, func(t *testing.T) {
			s := mcpserver.New("server", "1", nil)
			s.Tool("echo", "", func(_ context.Context, in text) (string, error) { return in.Text, nil })
			ours, theirs := over.pair()
			served := make(chan error, 1)
			go func() { served <- s.Serve(context.Background(), theirs) }()
			c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(ours), nil)
			if err != nil {
				t.Fatal(err)
			}
			allocs := testing.AllocsPerRun(200, func() {
				if got, err := c.Call[string](t.Context(), "echo", text{"hello"}); err != nil || got != "hello" {
					t.Fatal(got, err)
				}
			})
			if allocs > over.ceiling {
				t.Errorf("got %v allocations, want at most %v", allocs, over.ceiling)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			<-served
		})
	}
}
