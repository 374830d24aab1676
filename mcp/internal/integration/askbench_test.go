package integration_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// BenchmarkQuestions compares, in memory and with a real client, a call whose handler
// asks four times with one that does not ask. In the stateless era four questions make
// five rounds, each of which may cost twice what a call without questions does.
func BenchmarkQuestions(b *testing.B) {
	type seat struct {
		Row int `json:"row"`
	}
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, questions := range []int{0, 4} {
			b.Run(fmt.Sprint(v, "/", questions), func(b *testing.B) {
				srv := mcpserver.New("bench", "1", nil)
				srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
					for i := range questions {
						if _, err := mcpserver.Ask[seat](ctx, fmt.Sprint("q", i), "Which row?"); err != nil {
							return "", err
						}
					}
					return "done", nil
				})
				c, err := mcpclient.Connect(b.Context(), mcpclient.InProcess(srv), &mcpclient.Options{
					Revisions: []mcp.Revision{v}, Ask: mcpclient.AskOptions{Rate: mcp.Rate{PerSecond: -1}},
					ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row":4}`)}, nil
					},
				})
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				b.ReportAllocs()
				for b.Loop() {
					if got, err := c.Call[string](b.Context(), "ask", nil); err != nil || got != "done" {
						b.Fatalf("got %q, %v", got, err)
					}
				}
			})
		}
	}
}
