package integration_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// neighbourhood is a server, whose tool "hold" keeps its calls until they are
// released or cancelled, and the way to it.
type neighbourhood struct {
	t    *testing.T
	wire wire
	to   way
	*mcpserver.Server

	begun, cancelled chan string // nonces
	release          chan struct{}
}

func newNeighbourhood(t *testing.T, w wire) *neighbourhood {
	n := &neighbourhood{
		t: t, wire: w, Server: quietServer(),
		begun: make(chan string, 10), cancelled: make(chan string, 10), release: make(chan struct{}),
	}
	n.Tool("hold", "Is held", func(ctx context.Context, in secret) (string, error) {
		n.begun <- in.Nonce
		select {
		case <-n.release:
			return in.Nonce, nil
		case <-ctx.Done():
			n.cancelled <- in.Nonce
			return "", context.Cause(ctx)
		}
	})
	n.to = w.serve(t, n.Server)
	return n
}

// client connects one more neighbour.
func (n *neighbourhood) client() neighbour {
	n.t.Helper()
	ctx, cancel := context.WithTimeoutCause(n.t.Context(), testTimeout, fmt.Errorf("nothing came within %v", testTimeout))
	n.t.Cleanup(cancel)
	c, err := connectRaw(ctx, n.t, n.wire, n.to)
	if err != nil {
		n.t.Fatal(err)
	}
	return neighbour{n.t, c}
}

// hold has a neighbour call "hold" and returns when the call runs.
func (n *neighbourhood) hold(c neighbour, id int, nonce string) {
	n.t.Helper()
	c.ok(c.call(id, "hold", secret{nonce}))
	if got := await(n.t, n.begun); got != nonce {
		n.t.Fatalf("the call %q has begun, want %q", got, nonce)
	}
}

// neighbour is a raw client that fails the test where it fails.
type neighbour struct {
	t *testing.T
	*rawClient
}

func (c neighbour) ok(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// answer returns the text that a call is answered with.
func (c neighbour) answer(id int) string {
	c.t.Helper()
	m, err := c.reply(strconv.Itoa(id))
	c.ok(err)
	if m.Error != nil {
		c.t.Fatalf("call %d: got error %+v, want a result", id, m.Error)
	}
	return m.Result.Content.Text()
}

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(testTimeout):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// A failure here means that one client can end the calls of another.
func TestCancellingTheIDOfAnotherChangesNothing(t *testing.T) {
	eachWire(t, func(t *testing.T, w wire) {
		n := newNeighbourhood(t, w)
		a, b := n.client(), n.client()
		n.hold(a, 7, "a's")
		b.ok(b.cancel(7)) // which b has not
		n.hold(b, 7, "b's")
		b.ok(b.giveUp(7)) // and now its own
		if got := await(t, n.cancelled); got != "b's" {
			t.Fatalf("the call %q was cancelled, want %q", got, "b's")
		}
		close(n.release)
		if got := a.answer(7); got != "a's" {
			t.Errorf("got %q, want %q", got, "a's")
		}
	})
}

// A failure here means that a mistake in one handler reaches beyond its call.
func TestPanicEndsItsOwnCallAlone(t *testing.T) {
	eachWire(t, func(t *testing.T, w wire) {
		n := newNeighbourhood(t, w)
		n.Tool("panics", "Has a mistake", func(context.Context, struct{}) (string, error) { panic("a mistake") })
		a, b := n.client(), n.client()
		n.hold(a, 1, "a's")
		n.hold(b, 2, "b's")
		a.ok(a.call(2, "panics", struct{}{}))
		m, err := a.reply("2")
		a.ok(err)
		if m.Error == nil || m.Error.Code != -32603 || strings.Contains(m.Error.Message, "mistake") {
			t.Errorf("got %+v, error %+v, want -32603 without the panic's text", m, m.Error)
		}
		close(n.release)
		for _, held := range []struct {
			client neighbour
			id     int
			want   string
		}{{a, 1, "a's"}, {b, 2, "b's"}} {
			if got := held.client.answer(held.id); got != held.want {
				t.Errorf("got %q, want %q", got, held.want)
			}
		}
		n.hold(a, 3, "once more")
		if got := a.answer(3); got != "once more" {
			t.Errorf("got %q, want %q", got, "once more")
		}
	})
}

// A failure here means that a client can make others wait by not reading.
func TestClientThatStopsReadingDelaysNoOtherClient(t *testing.T) {
	eachWireInFakeTime(t, func(t *testing.T, w wire) {
		n := newNeighbourhood(t, w)
		f := newFlood(n.Server)
		close(n.release)
		deaf, b := n.client(), n.client()
		deaf.ok(deaf.listen())
		b.ok(b.listen())
		deaf.ok(deaf.call(1, "flood", struct{}{}))
		f.awaitStuck(t)

		latest := time.Now().Add(time.Second)
		for id := range 50 {
			n.hold(b, id+1, "b's")
			b.answer(id + 1)
		}
		n.Tool("more", "Comes later", func(context.Context, struct{}) (string, error) { return "", nil })
		b.ok(b.await(mcp.NotificationToolsListChanged))
		late := n.client()
		n.hold(late, 1, "late")
		late.answer(1)
		if now := time.Now(); now.After(latest) {
			t.Errorf("the others have waited for %v", now.Sub(latest)+time.Second)
		}

		if f.ended() {
			t.Error("the flood has ended, want it stuck all the time")
		}
		deaf.ok(deaf.conn.Close())
		await(t, f.done)
	})
}

// flood is a tool that says more than any queue holds.
type flood struct {
	said atomic.Int64
	done chan struct{}
}

func newFlood(s *mcpserver.Server) *flood {
	f := &flood{done: make(chan struct{}, 1)}
	page := &mcp.LoggingMessageParams{Level: mcp.LevelInfo, Data: jsontext.Value(`"` + strings.Repeat("x", 4<<10) + `"`)}
	s.Tool("flood", "Says a lot", func(ctx context.Context, _ struct{}) (string, error) {
		for range 5000 {
			f.said.Add(1)
			if err := mcpserver.From(ctx).Notify(ctx, mcp.NotificationMessage, page); err != nil {
				break
			}
		}
		f.done <- struct{}{}
		return "", nil
	})
	return f
}

// awaitStuck waits until the flood has begun and goes on no more.
func (f *flood) awaitStuck(t *testing.T) {
	t.Helper()
	before := int64(-1)
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		now := f.said.Load()
		if now == before && now > 0 {
			return
		}
		before = now
	}
	t.Fatal("the flood does not get stuck")
}

func (f *flood) ended() bool { return len(f.done) > 0 }
