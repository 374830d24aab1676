package streamhttp

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestEventLogDropsTheLeastRecentlyWrittenStreamsFirst(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newEventMemory(4 * (eventOverhead + 1))
	add := func(stream string, n int64) {
		t.Helper()
		if err := m.Append(ctx, stream, n, []byte{'0' + byte(n)}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(stream string, n int64) string {
		t.Helper()
		msgs, err := m.After(ctx, stream, n)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s", msgs)
	}
	add("a", 1)
	add("b", 1)
	add("a", 2)
	add("c", 1)
	add("c", 2) // no room: b has been silent for longest
	for _, tt := range []struct {
		stream string
		n      int64
		want   string
	}{{"a", 0, "[1 2]"}, {"a", 1, "[2]"}, {"a", 2, "[]"}, {"a", 9, "[]"}, {"b", 0, "[]"}, {"c", 0, "[1 2]"}, {"d", 0, "[]"}} {
		if got := kept(tt.stream, tt.n); got != tt.want {
			t.Errorf("%s behind %d: got %s, want %s", tt.stream, tt.n, got, tt.want)
		}
	}
	add("b", 2) // and goes on, without what was forgotten
	if got := kept("b", 0); got != "[2]" {
		t.Errorf("got %s, want what came since", got)
	}
	if got := kept("a", 0); got != "[]" {
		t.Errorf("got %s, want it forgotten", got)
	}
	for n := int64(3); n < 9; n++ {
		add("c", n)
	}
	if got := kept("c", 0); got != "[5 6 7 8]" {
		t.Errorf("a stream of its own: got %s, want the last four", got)
	}
	_ = m.Trim(ctx, "c", 6)
	if got := kept("c", 0); got != "[7 8]" {
		t.Errorf("trimmed: got %s, want those behind 6", got)
	}
	_ = m.Trim(ctx, "c", math.MaxInt64)
	if m.held() != 0 || len(m.streams) != 0 || len(m.byAge) != 0 {
		t.Errorf("got %d bytes, %d streams, %d in order, want none", m.held(), len(m.streams), len(m.byAge))
	}
}

func TestOneStreamIsLoggedWithinItsBounds(t *testing.T) {
	t.Parallel()
	m := newEventMemory(eventMemorySize)
	l := newEventLog(m, false, limit.Owner{}, nil)
	big := make([]byte, 64<<10)
	for range 1000 {
		l.lock()
		l.add(big)
		l.unlock()
		if m.held() > maxLogged+len(big)+eventOverhead {
			t.Fatalf("got %d bytes kept, want at most about %d", m.held(), maxLogged)
		}
	}
	if m.held() < maxLogged/2 {
		t.Errorf("got %d bytes kept, want at least %d", m.held(), maxLogged/2)
	}
	if _, ok := l.after(0); ok {
		t.Error("the first event is still to be had")
	}
	if events, ok := l.after(990); !ok || len(events) != 10 || events[9].ID != l.name+"-1000" {
		t.Errorf("got %d events, %v, want the last ten", len(events), ok)
	}
}

func TestKeptEventsOfOneOwnerDoNotDisplaceThoseOfAnother(t *testing.T) {
	t.Parallel()
	m := newEventMemory(64 * (eventOverhead + 1))
	greedy := limit.OwnerOf(mcp.PrincipalAnonymous, netip.Addr{}, limit.NewMember())
	modest := limit.OwnerOf(mcp.PrincipalAnonymous, netip.Addr{}, limit.NewMember())
	m.append(modest, "modest", 1, []byte("a"))
	for i := range 200 {
		for n := range int64(2) {
			m.append(greedy, fmt.Sprint("greedy ", i), n+1, []byte("b"))
		}
	}
	for n := int64(2); n <= 20; n++ {
		m.append(modest, "modest", n, []byte("c"))
	}
	if msgs, _ := m.After(t.Context(), "modest", 0); len(msgs) != 20 {
		t.Errorf("got %d events of the modest owner, want all 20", len(msgs))
	}
	if got, maxCount := m.held(), 64*(eventOverhead+1); got > maxCount {
		t.Errorf("%d bytes are kept, want at most %d", got, maxCount)
	}
}
