package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestReasonOfACancellationIsTheCauseOfTheContext(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		causes := make(chan error, 1)
		log := new(logbook)
		srv := newServer(&mcpserver.Options{Logger: textLog(log)})
		srv.Tool("hang", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return "", ctx.Err()
		})
		w := dial(t, srv, r)
		for _, test := range []struct{ reason, want string }{
			{`,"reason":"the user closed the window"`, "the user closed the window"},
			{`,"reason":"a\u0007bell"`, "a\uFFFDbell"},
			{`,"reason":"` + strings.Repeat("x", 2000) + `"`, strings.Repeat("x", 1024) + "…"},
			{`,"reason":7`, ""},
			{``, ""},
		} {
			id := w.Send("tools/call", `{"name":"hang"}`)
			w.Write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + test.reason + `}}`)
			err := <-causes
			cancelled, ok := errors.AsType[*mcp.CancelledError](err)
			if !ok || cancelled.Reason != test.want || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want a cancellation with the reason %q", err, test.want)
			}
		}
		if got := log.String(); !strings.Contains(got, "the user closed the window") {
			t.Errorf("got the log %s, want the reason in it", got)
		}
	})
}
