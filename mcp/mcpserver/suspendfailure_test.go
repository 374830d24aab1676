package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// askingMiddleware keeps the values of a round that cannot be suspended, and asks. It
// returns the error of Ask, or if ignore is set its own result.
func askingMiddleware(remember func(context.Context) error, ignore bool) mcpserver.Middleware {
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if err := remember(ctx); err != nil {
				return nil, err
			}
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			if ignore {
				return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("ignored")}}, nil
			}
			return nil, err
		}
	}
}

func TestQuestionOfMiddlewareThatCannotBeSentGivesItsReason(t *testing.T) {
	t.Parallel()
	remember := func(size int) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := mcpserver.Once(ctx, "blob", func() (string, error) { return strings.Repeat("x", size), nil })
			return err
		}
	}
	two := func(ctx context.Context) error {
		for _, key := range []string{"one", "two"} {
			if _, err := mcpserver.Park(ctx, key, func(context.Context) (int, error) { return 1, nil }, func(int) {}); err != nil {
				return err
			}
		}
		return nil
	}
	for name, test := range map[string]struct {
		options  mcpserver.Options
		remember func(context.Context) error
		reason   string
	}{
		"too many parked values": {mcpserver.Options{Ask: &mcpserver.AskOptions{MaxParked: 1}}, two, "park: keep 2 values: "},
		"too large a state":      {mcpserver.Options{}, remember(1 << 20), "the limit is 1048576"},
		"Store is down":          {mcpserver.Options{Store: downStore{newMapStore()}, Keys: []mcpserver.Key{keyA}}, remember(100 << 10), "no connection to the database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ignore := range []bool{false, true} {
				log, o := new(logbook), test.options
				o.Logger = textLog(log)
				srv := newServer(&o)
				srv.AddTool(mcp.Tool{Name: "one"}, rawNothing)
				srv.AddPrompt(mcp.Prompt{Name: "one"}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
					return &mcp.GetPromptResult{}, nil
				})
				w := dialAs(t, srv, mcp.V20260728, canAll)
				srv.Use(askingMiddleware(test.remember, ignore))
				r := w.Must("tools/call", `{"name":"one"}`)
				if at(t, r, "/isError") != "true" || !strings.Contains(at(t, r, "/content/0/text"), test.reason) {
					t.Errorf("tool, ignore %t: got %s, want %q", ignore, r, test.reason)
				}
				if text := log.String(); !strings.Contains(text, test.reason) || strings.Contains(text, mcpserver.ErrInputRequired.Error()) {
					t.Errorf("tool, ignore %t: got the log %s, want %q", ignore, text, test.reason)
				}
				log.Reset()
				m := w.Refused("prompts/get", `{"name":"one"}`, -32603)
				if strings.Contains(m.Message, test.reason) {
					t.Errorf("prompt: got %q, want the reason only in the log", m.Message)
				}
				if text := log.String(); !strings.Contains(text, test.reason) || !strings.Contains(text, incident(t, m.Message)) {
					t.Errorf("prompt, ignore %t: got the log %s, want %q", ignore, text, test.reason)
				}
			}
		})
	}
}

// downStore is a Store whose Put fails.
type downStore struct{ *mapStore }

func (downStore) Put(context.Context, string, []byte, time.Duration) error {
	return errors.New("no connection to the database")
}
