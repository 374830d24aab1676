package mcpclient_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type yesOrNo struct {
	Yes bool `json:"yes"`
}

func TestQuestionsOfAServerAreRateLimited(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		s := mcpserver.New("s", "1", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
		s.Tool("ask", "Asks", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcpserver.Ask[yesOrNo](ctx, "sure", "Sure?")
			return "asked", err
		})
		var reached atomic.Value
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{
			Revisions: []mcp.Revision{v}, Ask: mcpclient.AskOptions{Rate: mcp.Rate{PerSecond: 1e-6, Burst: 2}}, Logger: slog.New(slog.DiscardHandler),
			OnLimit: func(e mcp.LimitReached) { reached.Store(e) },
			ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"yes":true}`)}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ask := func() string {
			text, err := c.Call[string](t.Context(), "ask", nil)
			if err != nil {
				return err.Error()
			}
			return text
		}
		if first, second := ask(), ask(); first != "asked" || second != "asked" {
			t.Errorf("%v: got %q and %q, want both answered", v, first, second)
		}
		if third := ask(); !strings.Contains(third, "too many questions") {
			t.Errorf("%v: the third: got %q, want it refused", v, third)
		}
		if want := (mcp.LimitReached{Limit: mcp.LimitElicitationRate, Method: mcp.MethodElicit}); reached.Load() != want {
			t.Errorf("%v: told %v, want %v", v, reached.Load(), want)
		}
		_ = c.Close()
	}
}
