package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// clerk is a server that asks, and asks a model, in each kind of request. Its call reports progress.
func clerk(revision mcp.Revision) *mcpserver.Server {
	srv := mcpserver.New("clerk", "1", &mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet})
	ask := func(ctx context.Context) error {
		_, err := mcpserver.Ask[greeting](ctx, "who", "Who are you?")
		return err
	}
	sample := func(ctx context.Context) error {
		var said mcp.CreateMessageResult
		return mcpserver.AskAll(ctx, mcpserver.SampleQuestion("praise", &mcp.CreateMessageParams{
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Praise")}}}, MaxTokens: 9,
		}, &said))
	}
	for name, question := range map[string]func(context.Context) error{"ask": ask, "sample": sample} {
		srv.Tool(name, "Ask", func(ctx context.Context, _ struct{}) (string, error) {
			mcpserver.Progress(ctx, 1, 4, "begun")
			if err := question(ctx); err != nil {
				return "", err
			}
			mcpserver.Progress(ctx, 2, 4, "asked")
			return "done", nil
		})
		srv.Prompt(name, "Ask", func(ctx context.Context, _ struct{}) ([]mcp.PromptMessage, error) { return nil, question(ctx) })
		srv.Resource("clerk://"+name, name, "text/plain", func(ctx context.Context) ([]byte, error) { return nil, question(ctx) })
	}
	return srv
}

// askClerk starts a host with a clerk whose questions p answers, and connects a client that can answer none.
func askClerk(t *testing.T, ask func(context.Context, *host.ServerQuestion) (*host.ServerAnswer, error), up, down mcp.Revision) (*gateway.Gateway, *mcpclient.Client) {
	t.Helper()
	g := startWith(t, &gateway.Options{AskPerson: ask}, host.Upstream{
		Key: "clerk", Target: mcpclient.InProcess(clerk(up)), Settings: host.Settings{Questions: host.QuestionRules{Sampling: host.SamplingAsk}},
	})
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Revisions: []mcp.Revision{down}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return g, c
}

func TestCallThatWaitsForTheAnswerOfAPersonSendsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			for _, down := range []mcp.Revision{mcp.V20241105, mcp.V20251125, mcp.V20260728} {
				g, c := askClerk(t, func(_ context.Context, q *host.ServerQuestion) (*host.ServerAnswer, error) {
					q.OnQuestion("7")
					time.Sleep(48 * time.Second)
					return &host.ServerAnswer{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
				}, up, down)
				var got []mcp.ProgressParams
				result, err := c.CallTool(t.Context(), "clerk__ask", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { got = append(got, p) }))
				if err != nil || result.IsError {
					t.Fatalf("%s behind for %s: got %+v, %v, want the call done", up, down, result, err)
				}
				if len(got) != 12 {
					t.Errorf("%s behind for %s: got %d notifications, want one at once and every 5 s, and those of the tool", up, down, len(got))
				}
				const waiting = `waiting for a person to answer question 7 of the server "clerk" in Fondaco (its terminal, inbox or notification, or the command "fondaco answer 7")`
				seen := make(map[string]int)
				for i, p := range got {
					if i > 0 && p.Progress <= got[i-1].Progress {
						t.Errorf("%s behind for %s: got progress %v after %v", up, down, p.Progress, got[i-1].Progress)
					}
					seen[p.Message]++
				}
				// 2024-11-05 has no messages.
				if down != mcp.V20241105 && (seen["begun"] != 1 || seen[waiting] != 10 || seen["asked"] != 1) {
					t.Errorf("%s behind for %s: got the messages %v, want 10 times %q between those of the tool", up, down, seen, waiting)
				}
				_ = c.Close()
				g.Close()
				synctest.Wait()
			}
		}
	})
}
