package tasks_test

import (
	"context"
	"encoding/json/v2"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// recorded returns a client with tasks, and what it has sent with the time of it.
func recorded(t *testing.T, poll time.Duration, v mcp.Revision, o *tasks.ClientOptions) (*mcpclient.Client, func(method string) []time.Duration) {
	t.Helper()
	sent := make(map[string][]time.Duration)
	began := time.Now()
	conn := mcptest.Dial(t, newServer(t, &tasks.Options{Poll: poll}), onTheWire...)
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(&watched{conn, func(method string) {
		sent[method] = append(sent[method], time.Since(began))
	}}), &mcpclient.Options{Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{tasks.Client(o)}})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	for _, err := range c.Tools(t.Context()) {
		must(t, err)
	}
	return c, func(method string) []time.Duration {
		synctest.Wait()
		return slices.Clone(sent[method])
	}
}

// watched is a connection that tells of what is written.
type watched struct {
	mcp.Conn
	tell func(method string)
}

func (w *watched) Write(ctx context.Context, msg []byte) error {
	var m struct {
		Method string `json:"method"`
	}
	if err := json.Unmarshal(msg, &m); err != nil {
		return err
	}
	w.tell(m.Method)
	return w.Conn.Write(ctx, msg)
}

func TestPollingHoldsToTheInterval(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-372", "R-385b")
		synctest.Test(t, func(t *testing.T) {
			c, sent := recorded(t, 200*time.Millisecond, v, nil)
			if got, err := begin(t, c, "slow", work{1.9, "a"}).Wait(t.Context()); err != nil || got.Content.Text() != "done a" {
				t.Errorf("got %+v, %v, want done", got, err)
			}
			polls := sent(mcp.MethodTasksGet)
			if len(polls) < 10 || len(polls) > 11 {
				t.Fatalf("polled %d times in 2 s, at %v: want once in 200 ms, to the end", len(polls), polls)
			}
			for i := 1; i < len(polls)-1; i++ { // a server may tell of the end before
				if pause := polls[i] - polls[i-1]; pause < 200*time.Millisecond {
					t.Errorf("poll %d came %v after the one before, want no less than the interval", i, pause)
				}
			}
		})
	})
}

func TestTaskIsCancelledByARequestOfItsOwn(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-385a")
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			enough := errors.New("enough")
			c, sent := recorded(t, 200*time.Millisecond, v, &tasks.ClientOptions{
				OnStatus: func(context.Context, *mcpclient.Client, tasks.Task) { cancel(enough) },
			})
			if _, err := c.CallTool(ctx, "failing", nil); !errors.Is(err, enough) {
				t.Errorf("got %v, want %v", err, enough)
			}
			if requests, notes := sent(mcp.MethodTasksCancel), sent(mcp.NotificationCancelled); len(requests) != 1 || len(notes) != 0 {
				t.Errorf("sent tasks/cancel at %v and notifications/cancelled at %v, want one of the first alone", requests, notes)
			}
		})
	})
}
