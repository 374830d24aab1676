package mcpserver_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// watchlog writes down what is watched.
type watchlog struct {
	mu    sync.Mutex
	lines []string
}

func (l *watchlog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *watchlog) take() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.lines)
	text := strings.Join(l.lines, ", ")
	l.lines = nil
	return text
}

func (l *watchlog) run(ctx context.Context, uri string) {
	l.add("begin " + uri)
	<-ctx.Done()
	l.add("end " + uri)
}

func TestWhileSubscribedRunsUntilTheLastUnsubscribe(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, log := newServer(nil), new(watchlog)
		srv.Resource("notes://a", "a", "", fixed(""), mcpserver.WhileSubscribed(log.run))
		srv.Resource("notes://b", "b", "", fixed(""))
		srv.Template("timetable://{airport}{?day}", "timetable", "", timetable, mcpserver.WhileSubscribed(log.run))
		one, two := dial(t, srv, r), dial(t, srv, r)
		want := func(step, want string) {
			t.Helper()
			if got := log.take(); got != want {
				t.Errorf("%s: got %q, want %q", step, got, want)
			}
		}
		watch(one, "notes://b")
		want("another resource", "")
		watch(one, "notes://a")
		watch(two, "notes://a")
		watch(two, "timetable://OSL")
		want("the first watchers", "begin notes://a, begin timetable://OSL")
		_ = one.Conn.Close()
		want("one of two has gone", "")
		if !isModern(r) {
			two.Must("resources/unsubscribe", `{"uri":"notes://a"}`)
			want("nobody is left", "end notes://a")
			watch(two, "notes://a")
			want("and watched again", "begin notes://a")
		}
		_ = two.Conn.Close()
		want("all have gone", "end notes://a, end timetable://OSL")
	})
}

func TestWhileSubscribedNeverRunsTwiceAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running, most, runs := 0, 0, 0
		srv := newServer(nil)
		srv.Resource("notes://a", "a", "", fixed(""), mcpserver.WhileSubscribed(func(ctx context.Context, _ string) {
			running++
			runs++
			most = max(most, running)
			<-ctx.Done()
			time.Sleep(time.Second) // slow to end
			running--
		}))
		w := dial(t, srv, mcp.V20251125)
		watch(w, "notes://a")
		synctest.Wait()
		for range 1000 {
			watch(w, "notes://a")
			w.Must("resources/unsubscribe", `{"uri":"notes://a"}`)
		}
		watch(w, "notes://a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if most != 1 || runs != 2 || running != 1 {
			t.Errorf("got %d runs, %d at most at once, %d now; want 2, 1 and 1", runs, most, running)
		}
		if err := srv.Shutdown(t.Context()); err != nil || running != 0 {
			t.Errorf("shutdown: got %v with %d running, want none", err, running)
		}
	})
}

func TestPanicOfWhileSubscribedEndsThatRunOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logged, runs := new(logbook), 0
		srv := newServer(&mcpserver.Options{Logger: textLog(logged)})
		srv.Resource("notes://a", "a", "", fixed(""), mcpserver.WhileSubscribed(func(context.Context, string) {
			runs++
			panic("oops")
		}))
		w := dial(t, srv, mcp.V20251125)
		watch(w, "notes://a")
		synctest.Wait()
		w.Must("resources/unsubscribe", `{"uri":"notes://a"}`)
		watch(w, "notes://a")
		synctest.Wait()
		if got := strings.Count(logged.String(), "panic=oops"); runs != 2 || got != 2 {
			t.Errorf("got %d runs, %d in the log, want both twice: %s", runs, got, logged)
		}
	})
}

func TestShutdownEndsWhileSubscribedFunctions(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, log := newServer(nil), new(watchlog)
		srv.Resource("notes://a", "a", "", fixed(""), mcpserver.WhileSubscribed(func(ctx context.Context, uri string) {
			log.run(ctx, uri)
			time.Sleep(time.Second)
			log.add("done")
		}))
		w := dial(t, srv, r)
		watch(w, "notes://a")
		synctest.Wait()
		finished := shutdown(t.Context(), srv)
		if isModern(r) {
			w.Notification("notifications/cancelled")
			w.Reply("1")
		}
		if err := <-finished; err != nil {
			t.Error(err)
		}
		if got, want := log.take(), "begin notes://a, done, end notes://a"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
