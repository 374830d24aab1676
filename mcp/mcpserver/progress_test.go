package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// reporting has a tool that reports progress as it is told.
func reporting(report func(ctx context.Context)) *mcpserver.Server {
	srv := newServer(nil)
	srv.Tool("work", "", func(ctx context.Context, _ struct{}) (string, error) {
		report(ctx)
		return "", nil
	})
	return srv
}

func TestProgressRisesStrictlyUnderTheCallersToken(t *testing.T) {
	claim.Shows(t, "R-272", "R-273a", "R-273b")
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		w := dial(t, reporting(func(ctx context.Context) {
			for _, done := range []float64{0, 1, 1, 0.5, math.NaN(), math.Inf(1), 1.5, -1, 3} {
				mcpserver.Progress(ctx, done, 3, "working")
			}
		}), r)
		for _, token := range []string{`"a\u00e9"`, `7`, `-1`, `""`, `0`} {
			id := w.Send("tools/call", `{"_meta":{"progressToken":`+token+`},"name":"work"}`)
			w.Reply(id)
			for _, done := range []string{"0", "1", "1.5", "3"} {
				p := w.Notification("notifications/progress").Params
				if got := at(t, p, "/progressToken") + at(t, p, "/progress") + at(t, p, "/total"); got != canonical(t, []byte(token))+done+"3" {
					t.Errorf("got %s, want token %s, progress %s of 3", p, token, done)
				}
				if got, known := at(t, p, "/message"), r != mcp.V20241105; (got == `"working"`) != known {
					t.Errorf("got message %q, want one: %v", got, known)
				}
			}
			w.Quiet()
		}
	})
}

func TestProgressIsLimitedAndItsLastIsNeverLost(t *testing.T) {
	claim.Shows(t, "R-273b", "R-275")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		const steps = 10_000 // one every millisecond
		w := dial(t, reporting(func(ctx context.Context) {
			short, cancel := context.WithCancel(ctx)
			for i := range steps {
				mcpserver.Progress(short, float64(i+1), steps, "")
				time.Sleep(time.Millisecond)
			}
			cancel()
		}), r)
		w.Reply(w.Send("tools/call", `{"_meta":{"progressToken":1},"name":"work"}`))
		var heard []float64
		for len(w.Held) > 0 {
			heard = append(heard, decoded[float64](t, jsontext.Value(at(t, w.Notification("notifications/progress").Params, "/progress"))))
		}
		if !slices.IsSorted(heard) || len(slices.Compact(slices.Clone(heard))) != len(heard) {
			t.Errorf("got %v, want it to rise", heard)
		}
		if len(heard) < 200 || len(heard) > 220 || heard[9] != 10 || heard[len(heard)-1] != steps {
			t.Errorf("got %d, from %v up to %v; want the first 10, then 20 a second, and the last", len(heard), heard[:11], heard[len(heard)-1])
		}
		w.Quiet()
	})
}

func TestProgressThatWaitsIsSentInTime(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, reporting(func(ctx context.Context) {
			for i := range 100 {
				mcpserver.Progress(ctx, float64(i), 100, "")
			}
			time.Sleep(time.Hour)
		}), r)
		begin := time.Now()
		w.Send("tools/call", `{"_meta":{"progressToken":1},"name":"work"}`)
		for range 10 {
			w.Notification("notifications/progress")
		}
		if got := at(t, w.Notification("notifications/progress").Params, "/progress"); got != "99" || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("got %s after %v, want 99 after 50ms", got, time.Since(begin))
		}
		w.Quiet()
	})
}

func TestProgressIsSentOnlyToThoseWhoAsked(t *testing.T) {
	claim.Shows(t, "R-273a", "R-277")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, reporting(func(ctx context.Context) { mcpserver.Progress(ctx, 1, 0, "") }), r)
		w.Must("tools/call", `{"name":"work"}`)
		w.Quiet()
		w.Must("tools/call", `{"_meta":{"progressToken":1},"name":"work"}`)
		if p := w.Notification("notifications/progress").Params; at(t, p, "/total") != "" || at(t, p, "/message") != "" {
			t.Errorf("got %s, want no total and no message", p)
		}
	})
}

func TestInfiniteTotalOfProgressIsOmitted(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, reporting(func(ctx context.Context) { mcpserver.Progress(ctx, 1, math.Inf(1), "\xff\x00") }), r)
		w.Must("tools/call", `{"_meta":{"progressToken":1},"name":"work"}`)
		if p := w.Notification("notifications/progress").Params; at(t, p, "/total") != "" || at(t, p, "/progress") != "1" {
			t.Errorf("got %s, want progress 1 and no total", p)
		}
	})
}

func TestNothingIsSentAfterTheEndOfACall(t *testing.T) {
	claim.Shows(t, "R-273c")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		late := make(chan func(), 2)
		w := dial(t, reporting(func(ctx context.Context) {
			log := mcpserver.Log(ctx)
			late <- func() {
				mcpserver.Progress(ctx, 1, 1, "late")
				log.Error("late")
			}
		}), r)
		w.Must("tools/call", `{"_meta":{"progressToken":1},"name":"work"}`)
		(<-late)()
		w.Quiet()
	})
}

func TestProgressOfManyGoroutinesStaysInOrder(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-273b")
	w := dial(t, reporting(func(ctx context.Context) {
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() { mcpserver.Progress(ctx, float64(i), 50, strings.Repeat("x", i)) })
		}
		all.Wait()
	}), mcp.V20251125)
	w.Reply(w.Send("tools/call", `{"_meta":{"progressToken":1},"name":"work"}`))
	last := -1.0
	for len(w.Held) > 0 {
		p := decoded[struct {
			Progress float64 `json:"progress"`
		}](t, w.Notification("notifications/progress").Params)
		if p.Progress <= last {
			t.Errorf("got %v after %v, want more", p.Progress, last)
		}
		last = p.Progress
	}
	if last != 49 {
		t.Errorf("got %v at last, want 49", last)
	}
}

func TestCancelledCallGetsNoReply(t *testing.T) {
	claim.Shows(t, "R-077", "R-079a", "R-079b", "R-281a", "R-283")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		causes := make(chan error, 10)
		srv := newServer(nil)
		wait := func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			mcpserver.Progress(ctx, 1, 1, "late")
			return "late", nil
		}
		srv.Tool("wait", "", wait)
		srv.Tool("wait_apart", "", wait, mcpserver.Timeout(hour))
		srv.Tool("wait_limited", "", wait, mcpserver.Limit(1))
		w := dial(t, srv, r)
		for _, name := range []string{"wait", "wait_apart", "wait_limited"} {
			id := w.Send("tools/call", `{"_meta":{"progressToken":1},"name":"`+name+`"}`)
			synctest.Wait()
			w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"bored"}}`, id))
			if cause := <-causes; cause == nil || !strings.Contains(cause.Error(), "cancelled") {
				t.Errorf("%s: got cause %v, want that the client cancelled", name, cause)
			}
			w.Quiet()
		}
		w.Must("tools/list", "")
	})
}

func TestForeignOrMalformedCancellationChangesNothing(t *testing.T) {
	claim.Shows(t, "R-281b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		release := make(chan struct{})
		srv := newServer(nil)
		srv.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-release:
				return "done", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
		w, other := dial(t, srv, r), dial(t, srv, r)
		id := w.Send("tools/call", `{"name":"wait"}`)
		synctest.Wait()
		other.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
		for _, requestID := range []string{`"` + id + `"`, `99`, `null`, `[` + id + `]`} {
			w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, requestID))
		}
		synctest.Wait()
		close(release)
		if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"done"` {
			t.Errorf("got %s, want done", got)
		}
	})
}

func TestDisconnectCancelsRunningCalls(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		ended := make(chan error, 1)
		srv := newServer(nil)
		srv.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return "", nil
		})
		w := dial(t, srv, r)
		w.Send("tools/call", `{"name":"wait"}`)
		synctest.Wait()
		_ = w.Conn.Close()
		if cause := <-ended; cause == nil || !strings.Contains(cause.Error(), "disconnected") {
			t.Errorf("got %v, want that the client has disconnected", cause)
		}
	})
}

func TestTimeoutAnswersInTime(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		logged := new(logbook)
		var runs atomic.Int64
		reached := new(limitsTold)
		srv := newServer(&mcpserver.Options{Logger: textLog(logged), OnLimit: reached.hear})
		srv.Tool("slow", "", func(context.Context, struct{}) (string, error) {
			runs.Add(1)
			time.Sleep(time.Minute)
			return "late", nil
		}, mcpserver.Timeout(time.Second), mcpserver.Limit(1))
		w := dial(t, srv, r)
		for _, test := range []struct {
			name string
			took time.Duration
			runs int64
		}{
			{"the first runs", time.Second, 1},
			{"the second waits for the slot, which the late run still has", 30 * time.Second, 1},
			{"the third gets the slot when the late run has ended", 30 * time.Second, 2}, // 29 s for the slot
		} {
			begin := time.Now()
			result := w.Call("tools/call", `{"name":"slow"}`)
			if took := time.Since(begin); took != test.took || runs.Load() != test.runs {
				t.Errorf("%s: took %v after %d runs, want %v after %d", test.name, took, runs.Load(), test.took, test.runs)
			}
			refused := test.name[:10] == "the second"
			if refused && !strings.Contains(string(result.Raw), "too many calls are running, yours has had no turn for 30s") {
				t.Errorf("%s: got %s, want a refusal", test.name, result.Raw)
			}
			if !refused && !strings.Contains(string(result.Raw), "the handler ran longer than its timeout of 1s") {
				t.Errorf("%s: got %s, want isError that says how long", test.name, result.Raw)
			}
		}
		if late, full := reached.of(mcp.LimitToolTimeout), reached.of(mcp.LimitToolCalls); late != 2 || full != 1 {
			t.Errorf("OnLimit: got %d timeouts and %d calls without a slot, want 2 and 1", late, full)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := strings.Count(logged.String(), "after its call had ended"); got != 2 {
			t.Errorf("got log %s, want two late returns", logged)
		}
	})
}

func TestTimeoutDoesNotCountTheTimeInWhichACallWaitsForItsSlot(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("slow", "", func(context.Context, struct{}) (string, error) {
			time.Sleep(200 * time.Millisecond)
			return "done", nil
		}, mcpserver.Timeout(300*time.Millisecond), mcpserver.Limit(1))
		w := dial(t, srv, r)
		ids := make([]string, 4)
		for i := range ids {
			ids[i] = w.Send("tools/call", `{"name":"slow"}`)
		}
		for i, id := range ids {
			if m := w.Reply(id); at(t, m.Result, "/content/0/text") != `"done"` {
				t.Errorf("call %d: got %s, want it done", i, m.Raw)
			}
		}
	})
}

func TestLimitLetsSoManyRunAtOnce(t *testing.T) {
	claim.Shows(t, "R-218c")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		running, most := 0, 0
		var mu sync.Mutex
		srv := newServer(nil)
		srv.Tool("a", "", func(context.Context, struct{}) (string, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return "", nil
		}, mcpserver.Limit(3))
		w := dial(t, srv, r)
		begin := time.Now()
		var ids []string
		for range 9 {
			ids = append(ids, w.Send("tools/call", `{"name":"a"}`))
		}
		for _, id := range ids {
			w.Reply(id)
		}
		if took := time.Since(begin); most != 3 || took != 3*time.Second {
			t.Errorf("got %d at once for %v, want 3 for 3s", most, took)
		}
	})
}

func TestWaitForASlotEndsWithTheCall(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		runs := 0
		srv.Tool("a", "", func(context.Context, struct{}) (string, error) {
			runs++
			time.Sleep(time.Minute)
			return "", nil
		}, mcpserver.Limit(1))
		w := dial(t, srv, r)
		first := w.Send("tools/call", `{"name":"a"}`)
		synctest.Wait()
		second := w.Send("tools/call", `{"name":"a"}`)
		synctest.Wait()
		w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, second))
		w.Quiet()
		w.Reply(first)
		w.Quiet()
		if runs != 1 {
			t.Errorf("got %d runs, want 1", runs)
		}
	})
}
