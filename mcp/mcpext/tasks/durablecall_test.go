package tasks_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestDurableCallOfAKilledProcessContinuesAtAnotherReplica(t *testing.T) {
	claim.Shows(t, "B-14")
	eachSessionRevision(t, func(t *testing.T, v mcp.Revision) {
		var made ledger
		killed := hang(t)
		var c *callCluster
		c = newCallCluster(t, 3, tasks.Options{}, func(at int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				if err := made.step(ctx, "reserve"); err != nil {
					return "", err
				}
				mcpserver.Progress(ctx, 1, 2, "reserved")
				mcpserver.Progress(ctx, 2, 2, "paying")
				if at == 0 {
					time.Sleep(time.Second)
					c.kill(0)
					killed()
					return "", context.Canceled
				}
				return "ordered", made.step(ctx, "charge")
			})
		})
		session := c.open(0, v)
		c.do(1, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // replica 1 serves
		c.do(2, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		call := c.call(0, session, "order")
		call.begins()
		first := call.last
		call.want(`"progress":1`)
		after := call.last
		call.want(`"progress":2`)
		time.Sleep(2 * time.Second)
		call.hangUp()
		latest := time.Now().Add(10 * time.Second)
		last := c.followWant(1, session, after, `"progress":2`, "ordered")
		if now := time.Now(); now.After(latest) {
			t.Errorf("the call went on %v later than it has to", now.Sub(latest))
		}
		c.followWant(2, session, first, `"progress":1`, `"progress":2`, "ordered")
		c.followWant(2, session, after, `"progress":2`, "ordered")
		if got := c.resume(2, session, last).next(); got != "" {
			t.Errorf("after the reply: got %s, want nothing", got)
		}
		synctest.Wait()
		c.kill(1) // which has sent the reply
		time.Sleep(5 * time.Second)
		c.followWant(2, session, after, `"progress":2`, "ordered")
		if got := c.resume(2, session, last).next(); got != "" {
			t.Errorf("after the reply: got %s, want nothing", got)
		}
		made.has(t, "reserve", "charge")
		time.Sleep(time.Second)
		if left := append(c.stored("task."), c.stored("taskcall.")...); len(left) > 0 {
			t.Errorf("after the reply the Store has %q", left)
		}
	})
}

func TestDurableCallFollowsItsClientFromReplicaToReplica(t *testing.T) {
	claim.Shows(t, "B-14")
	eachSessionRevision(t, func(t *testing.T, v mcp.Revision) {
		var made ledger
		killed := hang(t)
		var c *callCluster
		c = newCallCluster(t, 4, tasks.Options{}, func(at int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				for _, step := range []string{"0", "1", "2"} {
					if err := made.step(ctx, step); err != nil {
						return "", err
					}
					time.Sleep(3 * time.Second)
					if c.replicas[at].link.cut.Load() {
						killed()
						return "", context.Canceled
					}
				}
				return "ordered", nil
			})
		})
		session := c.open(0, v)
		for at := range 4 {
			c.do(at, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
		call := c.call(0, session, "order")
		call.begins()
		for at := range 3 {
			time.Sleep(4 * time.Second)
			c.kill(at)
			time.Sleep(5 * time.Second) // until the others know
			call.hangUp()
			call = c.resume(at+1, session, call.last)
		}
		call.wantEnd("ordered")
		made.has(t, "0", "1", "2")
	})
}

func TestQuestionOfADurableCallIsAskedAgainAtAnotherReplica(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var made ledger
		c := newCallCluster(t, 3, tasks.Options{}, func(at int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				first, err := mcpserver.Ask[named](ctx, "name", "Your name?")
				if err != nil {
					return "", err
				}
				if err := made.step(ctx, "reserve for "+first.Name); err != nil {
					return "", err
				}
				answer, err := mcpserver.Ask[sure](ctx, "sure", "Sure?")
				if err != nil || !answer.Sure {
					return "", err
				}
				return "ordered for " + first.Name, nil
			})
		})
		session := c.open(0, mcp.V20251125)
		c.do(1, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		c.do(2, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		call := c.call(0, session, "order")
		question := call.want("Your name?")
		c.do(1, http.MethodPost, session, answerTo(question, `{"name":"Ada"}`))
		question = call.want("Sure?")
		c.kill(0)
		call.hangUp()
		time.Sleep(5 * time.Second)
		resumed := c.resume(1, session, call.last)
		again := resumed.want("Sure?")
		if idOf(again) == idOf(question) {
			t.Error("the question has the same id again")
		}
		c.do(2, http.MethodPost, session, answerTo(again, `{"sure":true}`))
		resumed.wantEnd("ordered for Ada")
		made.has(t, "reserve for Ada")
	})
}

// idOf returns the id of a request of the server, as it is in the message.
func idOf(question string) string {
	_, number, _ := strings.Cut(question, `"id":`)
	return number[:strings.IndexAny(number, ",}")]
}

func answerTo(question, content string) string {
	return `{"jsonrpc":"2.0","id":` + idOf(question) + `,"result":{"action":"accept","content":` + content + `}}`
}

func TestDurableCallWithoutOutcomeBecomesADeadLetter(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int32
		c := newCallCluster(t, 2, tasks.Options{Durable: &tasks.DurableOptions{Attempts: 3}}, func(_ int, r *callReplica) {
			r.durableTool("order", func(context.Context, work) (string, error) {
				attempts.Add(1)
				panic("out of order")
			})
		})
		session := c.open(0, mcp.V20250618)
		began := time.Now()
		call := c.call(0, session, "order")
		call.begins()
		call.wantEnd("all attempts of the call have failed")
		if took := time.Since(began); took < time.Second || attempts.Load() != 3 {
			t.Errorf("got %d attempts within %v, want 3 with time between them", attempts.Load(), took)
		}
		n := 0
		for letter, err := range c.replicas[1].tasks.DeadLetters(t.Context()) {
			if n++; err != nil || letter.Tool != "order" || letter.Attempts != 3 {
				t.Errorf("got the dead letter %+v, %v", letter, err)
			}
		}
		if n != 1 {
			t.Errorf("got %d dead letters, want 1", n)
		}
	})
}

// The outcome of a call is kept for as long as the EventStore does not have the reply.
func TestReplyOfADurableCallThatCouldNotBeStoredIsSentByAnotherReplica(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var made ledger
		c := newCallCluster(t, 2, tasks.Options{}, func(_ int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				time.Sleep(time.Second)
				r.noEvents.Store(true)
				return "ordered", made.step(ctx, "charge")
			})
		})
		session := c.open(0, mcp.V20251125)
		call := c.call(0, session, "order")
		call.begins()
		call.hangUp()
		time.Sleep(time.Minute)
		c.kill(0)
		time.Sleep(5 * time.Second)
		c.followWant(1, session, call.last, "ordered")
		made.has(t, "charge")
		synctest.Wait()
		if left := c.stored("task"); len(left) > 0 {
			t.Errorf("after the reply the Store has %q", left)
		}
	})
}

// endsWhenCancelled returns replicas of which 0 was killed while it ran a call, and a channel that
// gets a value when the handler on another one has begun or ended.
func endsWhenCancelled(t *testing.T) (c *callCluster, session string, last *callResponse, began, ended chan int) {
	killed := hang(t)
	began, ended = make(chan int, 9), make(chan int, 9)
	c = newCallCluster(t, 3, tasks.Options{}, func(at int, r *callReplica) {
		r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
			began <- at
			if at == 0 {
				killed()
				return "", context.Canceled
			}
			<-ctx.Done()
			ended <- at
			return "", ctx.Err()
		})
	})
	session = c.open(0, mcp.V20251125)
	c.do(1, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	last = c.call(0, session, "order")
	last.begins()
	<-began
	c.kill(0)
	last.hangUp()
	return c, session, last, began, ended
}

func TestDurableCallEndsWithItsSessionAndItsClient(t *testing.T) {
	claim.Shows(t, "B-14")
	cancelled := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"the call"}}`
	for name, end := range map[string]func(c *callCluster, session string){
		"cancelled": func(c *callCluster, session string) { c.do(1, http.MethodPost, session, cancelled) },
		"deleted":   func(c *callCluster, session string) { c.do(1, http.MethodDelete, session, "") },
	} {
		for _, at := range []string{"before it is taken over", "after", "with its client"} {
			t.Run(name+" "+at, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, session, last, began, ended := endsWhenCancelled(t)
					if at != "before it is taken over" {
						<-began
					}
					if at == "with its client" {
						defer c.resume(2, session, last.last).hangUp()
					}
					end(c, session)
					if at != "before it is taken over" {
						<-ended
					}
					time.Sleep(time.Minute)
					if len(began) > 0 {
						t.Errorf("the call was taken over by replica %d", <-began)
					}
					time.Sleep(time.Minute)
					if left := c.stored("task"); len(left) > 0 {
						t.Errorf("the Store has %q", left)
					}
				})
			})
		}
	}
}

// A client that resumes the stream after the first event again and again needs the parts of all
// replicas.
func TestStreamOfADurableCallIsResumedABoundedNumberOfTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 32
		killed := hang(t)
		c := newCallCluster(t, most+2, tasks.Options{Durable: &tasks.DurableOptions{Attempts: 100}}, func(_ int, r *callReplica) {
			r.durableTool("order", func(context.Context, work) (string, error) {
				killed()
				return "", context.Canceled
			})
		})
		session := c.open(0, mcp.V20251125)
		call := c.call(0, session, "order")
		call.begins()
		first := call.last
		for at := 1; at <= most; at++ {
			c.kill(at - 1)
			call.hangUp()
			time.Sleep(5 * time.Second)
			call = c.resume(at, session, first)
		}
		c.kill(most)
		call.hangUp()
		time.Sleep(5 * time.Second)
		res := c.do(most+1, http.MethodGet, session, "", "Accept", "text/event-stream", "Last-Event-ID", first)
		if res.status != http.StatusBadRequest {
			t.Errorf("got status %d after %d replicas, want 400", res.status, most+1)
		}
	})
}

// The log says once that calls of the tool end with their process.
func TestCallThatCannotBeDurableIsAnOrdinaryOne(t *testing.T) {
	claim.Shows(t, "B-14")
	var log bytes.Buffer
	srv := mcpserver.New("works", "1", &mcpserver.Options{Logger: quiet})
	endLater(t, srv)
	d := tasks.Enable(srv, &tasks.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	srv.Tool("order", "Works", func(context.Context, work) (string, error) { return "ordered", nil }, mcpserver.Durable(), d.AsTask())
	for _, v := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		c := mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if got, err := c.Call[string](t.Context(), "order", nil); got != "ordered" || err != nil {
			t.Errorf("%s: got %q, %v", v, got, err)
		}
	}
	if n := strings.Count(log.String(), "a call of a durable tool ends with its process"); n != 1 {
		t.Errorf("the log says %d times that a call cannot be durable, want once:\n%s", n, &log)
	}
}

func TestDurableCallIsResumedByItsSessionOnly(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		c, session, last, began, _ := endsWhenCancelled(t)
		<-began
		time.Sleep(5 * time.Second)
		for at := 1; at <= 2; at++ {
			other := c.open(at, mcp.V20251125)
			res := c.do(at, http.MethodGet, other, "", "Accept", "text/event-stream", "Last-Event-ID", last.last)
			if res.status != http.StatusBadRequest {
				t.Errorf("another session resumes the call at replica %d: got status %d, want 400", at, res.status)
			}
		}
		c.do(1, http.MethodDelete, session, "")
	})
}

// A process that has lost its lease and goes on has no effect: its steps are not begun, its
// messages are not sent, and its client gets the outcome of the other process.
func TestProcessWithoutItsLeaseHasNoPartInADurableCall(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var made ledger
		var c *callCluster
		c = newCallCluster(t, 2, tasks.Options{}, func(at int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				if err := made.step(ctx, "reserve"); err != nil {
					return "", err
				}
				if at == 0 {
					c.kill(0)
					time.Sleep(15 * time.Second) // without a look at ctx
					r.link.cut.Store(false)
					mcpserver.Progress(ctx, 1, 2, "late")
					return "of replica 0", made.step(ctx, "twice")
				}
				return "of replica 1", made.step(ctx, "charge")
			})
		})
		session := c.open(1, mcp.V20251125)
		call := c.call(0, session, "order")
		call.begins()
		call.wantEnd("of replica 1")
		made.has(t, "reserve", "charge")
	})
}

// One owner has at most half of the places of a process for calls of others that have ended.
func TestDurableCallsOfOneOwnerLeavePlacesToOthers(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		killed := hang(t)
		taken, done := make(chan int, 9), make(chan struct{})
		c := newCallCluster(t, 2, tasks.Options{Durable: &tasks.DurableOptions{MaxTaken: 4}}, func(at int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				if at == 0 {
					killed()
					return "", context.Canceled
				}
				taken <- at
				<-done
				return "ordered", nil
			})
		})
		for range 4 { // anonymous clients are one owner
			c.call(0, c.open(0, mcp.V20251125), "order").begins()
		}
		c.open(1, mcp.V20251125)
		time.Sleep(time.Second)
		c.kill(0)
		time.Sleep(time.Minute)
		if len(taken) != 2 {
			t.Errorf("%d calls were taken over at once, want 2 of 4 places", len(taken))
		}
		close(done)
		time.Sleep(time.Minute)
		if len(taken) != 4 {
			t.Errorf("%d calls were taken over, want 4", len(taken))
		}
	})
}

func TestWorkerContinuesDurableCalls(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		killed := hang(t)
		ran := make(chan int, 9)
		c := newCallCluster(t, 3, tasks.Options{}, func(at int, r *callReplica) {
			if at == 1 {
				return // serves, and does not have the tool
			}
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				ran <- at
				if at == 0 {
					killed()
					return "", context.Canceled
				}
				return "ordered", nil
			})
		})
		ctx, stop := context.WithCancel(t.Context())
		worked := make(chan error)
		go func() { worked <- tasks.Work(ctx, c.replicas[2].Server) }()
		session := c.open(0, mcp.V20250618)
		call := c.call(0, session, "order")
		call.begins()
		<-ran
		c.kill(0)
		call.hangUp()
		time.Sleep(5 * time.Second)
		c.resume(1, session, call.last).wantEnd("ordered")
		if at := <-ran; at != 2 {
			t.Errorf("replica %d has run the call, want the worker", at)
		}
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	})
}

// A replica that is shut down leaves its calls to others, without a reply.
func TestShutdownLeavesDurableCallsToOthers(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var made ledger
		c := newCallCluster(t, 2, tasks.Options{}, func(at int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				if err := made.step(ctx, "reserve"); err != nil {
					return "", err
				}
				if at == 0 {
					<-ctx.Done()
					return "", ctx.Err()
				}
				time.Sleep(5 * time.Second)
				return "ordered", nil
			})
		})
		session := c.open(1, mcp.V20251125)
		call := c.call(0, session, "order")
		call.begins()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = c.replicas[0].Shutdown(ctx)
		if got := call.next(); got != "" {
			t.Errorf("the replica that is shut down has sent %s, want nothing", got)
		}
		c.followWant(1, session, call.last, "ordered")
		made.has(t, "reserve")
	})
}

// The tasks of a client are not its calls.
func TestDurableCallIsNoTaskOfItsClient(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		c := newCallCluster(t, 1, tasks.Options{}, func(_ int, r *callReplica) {
			r.durableTool("order", func(ctx context.Context, _ work) (string, error) {
				if id, ok := tasks.IDFrom(ctx); ok {
					t.Errorf("the call has the task %s", id)
				}
				<-done
				return "ordered", nil
			})
		})
		session := c.open(0, mcp.V20251125)
		call := c.call(0, session, "order")
		call.begins()
		synctest.Wait()
		id := strings.TrimPrefix(c.stored("task.")[0], "task.")
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			res := c.do(0, http.MethodPost, session, `{"jsonrpc":"2.0","id":2,"method":"`+method+`","params":{"taskId":"`+id+`"}}`)
			if res.lines.Scan(); !strings.Contains(res.lines.Text(), "unknown task") {
				t.Errorf("%s: got %s, want an unknown task", method, res.lines.Text())
			}
		}
		close(done)
		call.wantEnd("ordered")
	})
}
