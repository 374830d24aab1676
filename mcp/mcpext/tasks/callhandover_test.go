package tasks_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
)

// The Store records which stream continues that of a call, and the replica does not get its answer.
func TestReplyIsSentThoughTheAnswerToTheHandoverIsLost(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		killed := hang(t)
		var lost atomic.Bool
		c := newCallCluster(t, 2, tasks.Options{}, func(at int, r *callReplica) {
			r.link.swapped = func(key string, value []byte) error {
				if at == 1 && strings.Contains(key, ".stream.") && strings.Contains(string(value), `"next"`) && !lost.Swap(true) {
					return errCut
				}
				return nil
			}
			r.durableTool("order", func(context.Context, work) (string, error) {
				if at == 0 {
					killed()
					return "", context.Canceled
				}
				return "ordered", nil
			})
		})
		session := c.open(0, mcp.V20251125)
		c.do(1, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		call := c.call(0, session, "order")
		call.begins()
		time.Sleep(time.Second)
		c.kill(0)
		call.hangUp()
		time.Sleep(5 * time.Second)
		if res := c.do(1, http.MethodGet, session, "", "Accept", "text/event-stream", "Last-Event-ID", call.last); res.status != http.StatusServiceUnavailable || !lost.Load() {
			t.Fatalf("got status %d, answer lost: %v; want 503 because it was lost", res.status, lost.Load())
		}
		time.Sleep(5 * time.Second)
		c.followWant(1, session, call.last, "ordered")
		time.Sleep(time.Minute)
		if left := c.stored("task"); len(left) > 0 {
			t.Errorf("after the reply the Store has %q", left)
		}
	})
}

// A replica loses the engine while it waits for the outcome of a call. The client goes to another
// one, which is killed, and returns.
func TestCallThatReturnsToAReplicaGetsItsReplyThere(t *testing.T) {
	claim.Shows(t, "B-14")
	eachSessionRevision(t, func(t *testing.T, v mcp.Revision) {
		killed := hang(t)
		var runs atomic.Int64
		c := newCallCluster(t, 2, tasks.Options{}, func(_ int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				switch runs.Add(1) {
				case 1:
					<-ctx.Done() // the lease is lost
					return "", ctx.Err()
				case 2:
					killed()
					return "", context.Canceled
				}
				return "ordered", nil
			})
		})
		session := c.open(0, v)
		c.do(1, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		call := c.call(0, session, "order")
		call.begins()
		first := call.last
		time.Sleep(time.Second)
		c.kill(0)
		call.hangUp()
		time.Sleep(5 * time.Second)
		call = c.resume(1, session, first)
		call.begins()
		time.Sleep(15 * time.Second)
		c.kill(1)
		call.hangUp()
		c.replicas[0].link.cut.Store(false)
		time.Sleep(5 * time.Second)
		c.followWant(0, session, call.last, "ordered")
		c.followWant(0, session, first, "ordered")
		if got := runs.Load(); got != 3 {
			t.Errorf("the handler began %d times, want 3", got)
		}
	})
}

// A client that hangs up before it has an event id cannot resume its call.
func TestStoreKeepsNothingOfACallWhoseClientHasNoEventID(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		c := newCallCluster(t, 1, tasks.Options{}, func(_ int, r *callReplica) {
			r.link.around = func(method, key string, call func() (bool, error)) (bool, error) {
				if method == "Put" && strings.Contains(key, ".stream.") {
					time.Sleep(2 * time.Second)
				}
				return call()
			}
			r.durableTool("order", func(context.Context, work) (string, error) { return "ordered", nil })
		})
		session := c.open(0, mcp.V20251125)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.doUntil(ctx, 0, http.MethodPost, session, callBody("order"))
		time.Sleep(time.Minute)
		for _, key := range append(c.stored("session."), c.stored("task")...) {
			if !strings.HasSuffix(key, ".state") {
				t.Errorf("the Store has %s, want nothing of the call", key)
			}
		}
		if len(c.events.streams) > 0 {
			t.Errorf("the EventStore has %d streams, want none", len(c.events.streams))
		}
	})
}
