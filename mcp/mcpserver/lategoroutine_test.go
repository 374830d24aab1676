package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// TestGoroutinesThatOutliveTheirHandlerChangeNothing is about handlers that do not wait
// for their goroutines. Such a goroutine must neither end the process nor write into a
// state that is being sealed.
func TestGoroutinesThatOutliveTheirHandlerChangeNothing(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		var work sync.WaitGroup
		srv.Tool("careless", "", func(ctx context.Context, _ struct{}) (string, error) {
			for i := range 8 {
				work.Go(func() {
					for j := range 20 {
						key := fmt.Sprint(i, "-", j)
						_, _ = mcpserver.Once(ctx, "once"+key, func() (string, error) { return key, nil })
						_, _ = mcpserver.Park(ctx, "park"+key, func(context.Context) (int, error) { return j, nil }, func(int) {})
						mcpserver.NewID(ctx, key)
						mcpserver.Progress(ctx, float64(j), 0, "")
					}
				})
			}
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return "done", err
		})
		w := dialAs(t, srv, r, canAll)
		answerEach(t, w, "tools/call", `{"name":"careless"}`, accept(`{"colour":"red"}`))
		work.Wait()
	})
}

func TestGoroutineThatAsksLateGetsTheErrorThatEndedTheRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asks bool
		want error
	}{"asked": {true, mcpserver.ErrInputRequired}, "finished": {false, mcpserver.ErrCallEnded}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv, late, outcome := newServer(nil), make(chan struct{}), make(chan error, 3)
				srv.Tool("leave", "", func(ctx context.Context, _ struct{}) (string, error) {
					go func() {
						<-late
						_, err := mcpserver.Once(ctx, "once", func() (int, error) { t.Error("a late step ran"); return 0, nil })
						outcome <- err
						_, err = mcpserver.Park(ctx, "park", func(context.Context) (int, error) { t.Error("a late value was opened"); return 0, nil }, func(int) {})
						outcome <- err
						_, err = mcpserver.Ask[colour](ctx, "late", "Which colour?")
						outcome <- err
					}()
					if !test.asks {
						return "", nil
					}
					_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
					return "", err
				})
				dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call", `{"name":"leave"}`)
				close(late)
				for _, what := range []string{"Once", "Park", "Ask"} {
					if err := <-outcome; !errors.Is(err, test.want) {
						t.Errorf("%s: got %v, want %v", what, err, test.want)
					}
				}
			})
		})
	}
}

func TestStepThatIsStillRunningAtTheEndIsNotRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, finish, outcome := newServer(nil), make(chan struct{}), make(chan error, 1)
		srv.Tool("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
			running := make(chan struct{})
			go func() {
				_, err := mcpserver.Once(ctx, "once", func() (int, error) { close(running); <-finish; return 1, nil })
				outcome <- err
			}()
			<-running
			return "", nil
		})
		dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call", `{"name":"slow"}`)
		close(finish)
		if err := <-outcome; !errors.Is(err, mcpserver.ErrCallEnded) {
			t.Errorf("got %v, want %v", err, mcpserver.ErrCallEnded)
		}
	})
}

// lot is a tool whose values are counted.
type lot struct{ opened, closed atomic.Int32 }

func (l *lot) park(ctx context.Context, key string) error {
	_, err := mcpserver.Park(ctx, key, func(context.Context) (int32, error) { return l.opened.Add(1), nil }, func(int32) { l.closed.Add(1) })
	return err
}

func (l *lot) holds(t *testing.T, opened, closed int32) {
	t.Helper()
	if o, c := l.opened.Load(), l.closed.Load(); o != opened || c != closed {
		t.Errorf("opened %d and closed %d, want %d and %d", o, c, opened, closed)
	}
}

func TestValuesOfOneCallAreParkedTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, l := newServer(&mcpserver.Options{Ask: &mcpserver.AskOptions{MaxParked: 2}}), new(lot)
		srv.Tool("three", "", func(ctx context.Context, _ struct{}) (string, error) {
			for i := range 3 {
				if err := l.park(ctx, fmt.Sprint(i)); err != nil {
					return "", err
				}
			}
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return "", err
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		if r := w.Must("tools/call", `{"name":"three"}`); at(t, r, "/isError") != "true" {
			t.Errorf("got %s, want it refused", r)
		}
		l.holds(t, 3, 3)
	})
}

func TestParkedValuesAreClosedWithTheirCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-297")
	synctest.Test(t, func(t *testing.T) {
		srv, l := newServer(nil), new(lot)
		srv.Tool("forgetful", "", func(ctx context.Context, _ struct{}) (string, error) {
			if mcpserver.From(ctx).Round() > 0 {
				return "does not take its value", nil
			}
			if err := l.park(ctx, "value"); err != nil {
				return "", err
			}
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return "", err
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		r := w.Must("tools/call", `{"name":"forgetful"}`)
		l.holds(t, 1, 0)
		w.Must("tools/call", retry(t, `{"name":"forgetful"}`, r, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		l.holds(t, 1, 1)
	})
}

func TestValueParkedDuringAQuestionIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, l, opening, outcome := newServer(nil), new(lot), make(chan struct{}), make(chan error, 1)
		srv.Tool("beside", "", func(ctx context.Context, _ struct{}) (string, error) {
			begun := make(chan struct{})
			go func() {
				_, err := mcpserver.Park(ctx, "value", func(context.Context) (int32, error) {
					close(begun)
					<-opening
					return l.opened.Add(1), nil
				}, func(int32) { l.closed.Add(1) })
				outcome <- err
			}()
			<-begun
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return "", err
		})
		dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call", `{"name":"beside"}`)
		close(opening)
		if err := <-outcome; !errors.Is(err, mcpserver.ErrInputRequired) {
			t.Errorf("got %v, want %v", err, mcpserver.ErrInputRequired)
		}
		l.holds(t, 1, 1)
	})
}

func TestQuestionsAddNoFixedDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		srv.Tool("four", "", func(ctx context.Context, _ struct{}) (string, error) {
			for i := range 4 {
				if _, err := mcpserver.Ask[colour](ctx, fmt.Sprint("q", i), "Which colour?"); err != nil {
					return "", err
				}
			}
			return "done", nil
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		begin := time.Now()
		r := w.Must("tools/call", `{"name":"four"}`)
		for i := range 4 {
			r = w.Must("tools/call", retry(t, `{"name":"four"}`, r, fmt.Sprintf(`{"q%d":%s}`, i, accept(`{"colour":"red"}`))))
		}
		if took := time.Since(begin); at(t, r, "/content/0/text") != `"done"` || took != 0 {
			t.Errorf("got %s after %v of waiting, want it done after none", r, took)
		}
	})
}

// TestPanicOfACloseFunctionIsContained is about the goroutine on which expired values
// are closed: nobody stands above it.
func TestPanicOfACloseFunctionIsContained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		srv.Tool("mine", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcpserver.Park(ctx, "mine", func(context.Context) (int, error) { return 1, nil }, func(int) { panic("boom") })
			if err == nil {
				_, err = mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			}
			return "", err
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		w.Must("tools/call", `{"name":"mine"}`)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.Must("tools/list", "")
	})
}

func TestPanicBesideAQuestionIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		srv := newServer(&mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
		srv.Tool("fall", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, _ = mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			panic("boom")
		})
		r := dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call", `{"name":"fall"}`)
		if at(t, r, "/inputRequests/colour") == "" || !strings.Contains(lines.String(), "boom") {
			t.Errorf("got %s and the log %q, want the question and the panic", r, lines.String())
		}
	})
}
