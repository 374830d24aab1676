package mcpclient_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestHTTPErrorIsInTheChainOfEveryOperation(t *testing.T) {
	t.Parallel()
	forbidden := func(e *exchange) { e.w.WriteHeader(http.StatusForbidden) }
	s := web(t, sessionWeb(mcp.V20250618, forbidden))
	c := connect(t, mcpclient.URL(s.URL), nil)
	c.Use(func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (any, error) {
			result, err := next(ctx, r)
			if statusOf(err) != http.StatusForbidden {
				t.Errorf("middleware: got %v for %s, want HTTP 403", err, r.Method)
			}
			return result, err
		}
	})
	for name, do := range map[string]func() error{
		"request":      func() error { return c.Request(t.Context(), mcp.MethodPing, nil, nil) },
		"notification": func() error { return c.Notify(t.Context(), mcp.NotificationRootsListChanged, nil) },
		"connect": func() error {
			_, err := mcpclient.Connect(t.Context(), mcpclient.URL(web(t, forbidden).URL), &mcpclient.Options{Logger: quiet()})
			return err
		},
		"watch": func() error {
			for _, err := range c.Watch(t.Context(), "test://one") {
				return err
			}
			return nil
		},
	} {
		if err := do(); statusOf(err) != http.StatusForbidden {
			t.Errorf("%s: got %v, want HTTP 403", name, err)
		}
	}
}

func TestExitErrorIsInTheChainOfCallsAndEvents(t *testing.T) {
	t.Parallel()
	lost := make(chan error, 1)
	c := connect(t, child(t, "session"), &mcpclient.Options{
		NoRestart: true,
		OnEvent: func(_ context.Context, e mcpclient.Event) {
			if e.Kind == mcpclient.EventLost {
				lost <- e.Err
			}
		},
	})
	_, inFlight := c.CallTool(t.Context(), "die", nil)
	_, after := c.CallTool(t.Context(), "pid", nil)
	for name, err := range map[string]error{"call in flight": inFlight, "call after the exit": after, "event": <-lost} {
		exit, ok := errors.AsType[*mcpclient.ExitError](err)
		if !ok || exit.Error() != "exited with status 3: I was told to" || exit.Status != 3 || exit.LastLine != "I was told to" {
			t.Errorf("%s: got %v, want an ExitError with status 3", name, err)
		}
	}
}
