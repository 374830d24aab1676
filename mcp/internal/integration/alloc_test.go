//go:build !race

// The race detector makes sync.Pool forget at random, so that there is nothing
// to count.

package integration_test

import (
	"context"
	"encoding/json/jsontext"
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

func TestCallBetweenAClientAndAServerAllocatesLittle(t *testing.T) {
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

// A handler that asks four times makes five rounds in the stateless era.
func TestFiveRoundsBetweenAClientAndAServerAllocateLittle(t *testing.T) {
	type seat struct {
		Row int `json:"row"`
	}
	s := mcpserver.New("server", "1", nil)
	s.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		for _, key := range []string{"a", "b", "c", "d"} {
			if _, err := mcpserver.Ask[seat](ctx, key, "Which row?"); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20260728}, Ask: mcpclient.AskOptions{Rate: mcp.Rate{PerSecond: -1}},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row":4}`)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	allocs := testing.AllocsPerRun(100, func() {
		if got, err := c.Call[string](t.Context(), "ask", nil); err != nil || got != "done" {
			t.Fatal(got, err)
		}
	})
	const ceiling = 316
	if allocs > ceiling {
		t.Errorf("got %v allocations, want at most %d", allocs, ceiling)
	}
}
