package inproc

import (
	"context"
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// BenchmarkRounds measures a client and a server of the stateless era together: a call
// whose handler asks four questions, which makes five rounds.
func BenchmarkRounds(b *testing.B) {
	type seat struct {
		Row int `json:"row"`
	}
	s := mcpserver.New("bench", "1", nil)
	s.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		for _, key := range []string{"a", "b", "c", "d"} {
			if _, err := mcpserver.Ask[seat](ctx, key, "Which row?"); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	c, err := mcpclient.Connect(b.Context(), mcpclient.InProcess(s), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20260728}, Ask: mcpclient.AskOptions{Rate: mcp.Rate{PerSecond: -1}},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row":4}`)}, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.Run("call=ask4/sdk=fondaco", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := c.Call[string](b.Context(), "ask", nil); err != nil || got != "done" {
				b.Fatalf("got %q, %v", got, err)
			}
		}
	})
}
