package streamhttp

import (
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/sse"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

const (
	// maxLogged bounds what is kept of one stream, in bytes. Half of it is kept at
	// least.
	maxLogged = 4 << 20
	// storeTimeout bounds one call of the event store.
	storeTimeout = 5 * time.Second
)

// eventLog numbers the events of one stream and keeps them in the store. The id
// of an event is the stream's name and the number, so that it leads to the stream
// and is known to no other session:
//
//	<16 random characters>-<number>
//
// What belongs to the log is guarded by its turn, which one goroutine has at a
// time, also while it calls the store, whose calls have to be in order. The store is
// user code that may call the server: nothing that it can call waits for the turn, see
// forget. A nil eventLog is that of a stream which cannot be resumed: its events
// have no ids.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
type eventLog struct {
	store  mcp.EventStore
	owner  limit.Owner // for whom the events count
	logger *slog.Logger
	name   string
	turn   chan struct{} // of capacity 1: full while somebody has the turn
	ending atomic.Bool   // whoever gives the turn away forgets everything first

	sent  int64 // the number of the last event
	gone  bool  // nothing is kept any more
	half  int64 // the events up to here are trimmed next
	bytes int   // of the events behind half
}

func newEventLog(store mcp.EventStore, owner limit.Owner, logger *slog.Logger) *eventLog {
	return &eventLog{store: store, owner: owner, logger: logger, name: rand.Text()[:16], turn: make(chan struct{}, 1)}
}

func (l *eventLog) take() {
	if l != nil {
		l.turn <- struct{}{}
	}
}

func (l *eventLog) give() {
	if l == nil {
		return
	}
	<-l.turn
	if l.ending.Load() {
		l.forget()
	}
}

// forget forgets everything, now or when whoever has the turn gives it away. It waits
// for nobody.
func (l *eventLog) forget() {
	if l == nil {
		return
	}
	l.ending.Store(true)
	select {
	case l.turn <- struct{}{}:
		l.end()
		<-l.turn
	default:
	}
}

// The methods below need the turn.

// add numbers messages and keeps them. An event that the store did not take is
// sent all the same.
func (l *eventLog) add(msgs ...[]byte) []sse.Event {
	events := make([]sse.Event, len(msgs))
	for i, msg := range msgs {
		events[i] = sse.Event{Name: "message", Data: msg}
		if l == nil {
			continue
		}
		l.sent++
		events[i].ID = l.id(l.sent)
		l.keep(msg)
	}
	return events
}

func (l *eventLog) keep(msg []byte) {
	if l.gone {
		return
	}
	if m, own := l.store.(*eventMemory); own {
		m.append(l.owner, l.name, l.sent, msg)
	} else {
		l.call("keep event", func(ctx context.Context) error { return l.store.Append(ctx, l.name, l.sent, msg) })
	}
	if l.bytes += len(msg) + eventOverhead; l.bytes > maxLogged/2 {
		l.trim(l.half)
		l.half, l.bytes = l.sent, 0
	}
}

// after returns the events behind number n again. It reports false when there
// never were so many, or one of them is not kept any more.
func (l *eventLog) after(n int64) ([]sse.Event, bool) {
	if n > l.sent || l.gone {
		return nil, false
	}
	var msgs [][]byte
	if n < l.sent {
		ok := l.call("read events", func(ctx context.Context) (err error) {
			msgs, err = l.store.After(ctx, l.name, n)
			return err
		})
		if !ok || int64(len(msgs)) != l.sent-n {
			return nil, false
		}
	}
	events := make([]sse.Event, len(msgs))
	for i, msg := range msgs {
		events[i] = sse.Event{ID: l.id(n + int64(i) + 1), Name: "message", Data: msg}
	}
	return events, true
}

func (l *eventLog) trim(n int64) {
	if n > 0 && !l.gone {
		l.call("forget events", func(ctx context.Context) error { return l.store.Trim(ctx, l.name, n) })
	}
}

// end forgets everything, once: the stream cannot be resumed any more.
func (l *eventLog) end() {
	l.trim(math.MaxInt64)
	l.gone = true
}

func (l *eventLog) call(what string, f func(context.Context) error) bool {
	ctx := context.Background()
	if _, own := l.store.(*eventMemory); !own { // which never waits
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, storeTimeout)
		defer cancel()
	}
	err := usercode.Run(func() error { return f(ctx) })
	if err != nil {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "streamhttp: event store: "+what, usercode.Attrs(err)...)
	}
	return err == nil
}

func (l *eventLog) id(n int64) string { return l.name + "-" + strconv.FormatInt(n, 10) }

// parseEventID returns the name of the stream and the number that an event id
// consists of.
func parseEventID(id string) (stream string, n int64, ok bool) {
	stream, number, ok := strings.Cut(id, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	return stream, n, ok && err == nil && n >= 0 && strconv.FormatInt(n, 10) == number
}

// noEvent answers a client that wants to go on behind an event which is none of
// its session's, or is not kept any more. The two are not told apart.
var noEvent = refuse(http.StatusBadRequest, "last event id: not known here, or not any more: the stream cannot be resumed")
