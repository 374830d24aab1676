package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

type seat struct {
	Row int `json:"row" min:"1"`
}

func TestToolUpstreamThatAsksRunsOnce(t *testing.T) {
	for _, upstream := range []mcp.Revision{mcp.V20250618, mcp.V20251125} {
		var runs atomic.Int32
		behind := mcpserver.New("airline", "1.0.0", &mcpserver.Options{Revisions: []mcp.Revision{upstream}})
		behind.Tool("book", "Books a seat", func(ctx context.Context, _ struct{}) (string, error) {
			runs.Add(1)
			s, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
			if err != nil {
				return "", err
			}
			var answer mcp.CreateMessageResult
			err = mcpserver.AskAll(ctx, mcpserver.SampleQuestion("wish", &mcp.CreateMessageParams{
				Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Wish a good flight")}}}, MaxTokens: 10,
			}, &answer))
			return fmt.Sprintf("%s in row %d", answer.Content.Text(), s.Row), err
		})
		srv, err := newServer(t.Context(), mcpclient.InProcess(behind))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
			t.Run(v.String()+" to "+upstream.String(), func(t *testing.T) {
				mcptest.CheckLeaks(t)
				runs.Store(0)
				c := mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}})
				mcptest.Answer(c, "upstream", seat{4})
				mcptest.Answer(c, "upstream", &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("Enjoy")}})
				got, err := c.Call[string](t.Context(), "book", nil)
				if err != nil || got != "Enjoy in row 4" || runs.Load() != 1 {
					t.Errorf("got %q, %v in %d runs, want the answers in one", got, err, runs.Load())
				}
			})
		}
	}
}
