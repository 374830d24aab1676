package streamhttp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
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
	// maxLogged bounds the events in the store of one stream, in bytes. At least the
	// newest half of that is kept.
	maxLogged = 4 << 20
	// maxUnstored and maxUnstoredBytes bound the events of one stream that the store has failed
	// to take and that are given to it again.
	maxUnstored      = 64
	maxUnstoredBytes = 256 << 10
	// storeTimeout bounds one call of the event store.
	storeTimeout = 5 * time.Second
)

// eventLog numbers the events of one stream and keeps them in the store. The id
// of an event is the stream's name and the number, so that it leads to the stream
// and is known to no other session:
//
//	<16 random characters>-<number>
//
// One goroutine at a time has the turn, which guards the log. It keeps the turn while it
// calls the store, so that the calls are in order. The store is user code that may call
// the server: nothing that it can call waits for the turn, see discard. A nil eventLog
// is that of a stream that cannot be resumed: its events have no ids.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
type eventLog struct {
	store      mcp.EventStore
	owner      limit.Owner // limits charge the events to it
	logger     *slog.Logger
	name       string
	shared     bool          // other processes read the store: events have their number before them
	turn       chan struct{} // of capacity 1: full while a goroutine has the turn
	discarding atomic.Bool   // unlock discards the events

	sent      int64    // the number of the last event
	unstored  [][]byte // the last events, which the store has failed to take so far
	gaveUp    bool     // the store will never have some of the events
	whenAll   func()   // called once, when the store has all events; may be nil
	discarded bool     // the store has no events of the stream any more
	trimNext  int64    // the next trim removes the events up to this one
	bytes     int      // of the events after trimNext
}

func newEventLog(store mcp.EventStore, shared bool, owner limit.Owner, logger *slog.Logger) *eventLog {
	return &eventLog{store: store, shared: shared, owner: owner, logger: logger, name: rand.Text()[:16], turn: make(chan struct{}, 1)}
}

func (l *eventLog) lock() {
	if l != nil {
		l.turn <- struct{}{}
	}
}

func (l *eventLog) unlock() {
	if l == nil {
		return
	}
	<-l.turn
	if l.discarding.Load() {
		l.discard()
	}
}

// discard removes all events from the store: at once, or in unlock if another goroutine
// has the turn. It does not wait.
func (l *eventLog) discard() {
	if l == nil {
		return
	}
	l.discarding.Store(true)
	select {
	case l.turn <- struct{}{}:
		l.discardLocked()
		<-l.turn
	default:
	}
}

// The methods below need the turn.

// add numbers messages and stores them. An event that the store fails to take is sent
// as well, and stored later if that is possible.
func (l *eventLog) add(msgs ...[]byte) []sse.Event {
	events := make([]sse.Event, len(msgs))
	for i, msg := range msgs {
		events[i] = sse.Event{Name: "message", Data: msg}
		if l == nil {
			continue
		}
		l.sent++
		events[i].ID = l.id(l.sent)
		l.append(msg)
	}
	return events
}

func (l *eventLog) append(msg []byte) {
	if l.discarded {
		return
	}
	if l.shared {
		msg = numbered(l.sent, msg)
	}
	if m, own := l.store.(*eventMemory); own {
		m.append(l.owner, l.name, l.sent, msg)
	} else {
		l.unstored = append(l.unstored, msg)
		l.storeRest()
	}
	if l.bytes += len(msg) + eventOverhead; l.bytes > maxLogged/2 {
		l.trim(l.trimNext)
		l.trimNext, l.bytes = l.sent, 0
	}
}

// stored returns the number of the last event that the store was given and that it will not be
// given again.
func (l *eventLog) stored() int64 { return l.sent - int64(len(l.unstored)) }

// storeRest gives the store the events that it has failed to take, in their order. If there are too
// many, it gives them up: a client that misses one of them cannot resume the stream.
func (l *eventLog) storeRest() {
	for len(l.unstored) > 0 {
		n, msg := l.stored()+1, l.unstored[0]
		if !l.call("keep event", func(ctx context.Context) error { return l.store.Append(ctx, l.name, n, msg) }) {
			break
		}
		l.unstored = l.unstored[1:]
	}
	size := 0
	for _, msg := range l.unstored {
		size += len(msg)
	}
	if len(l.unstored) > maxUnstored || size > maxUnstoredBytes {
		l.unstored, l.gaveUp = nil, true
	}
	l.callWhenAll()
}

// callWhenAll calls whenAll if the store has all events.
func (l *eventLog) callWhenAll() {
	if f := l.whenAll; f != nil && len(l.unstored) == 0 && !l.gaveUp {
		l.whenAll = nil
		f()
	}
}

// after returns the events after number n. It reports false if there is no event n, or
// if the store does not have all of them any more.
func (l *eventLog) after(n int64) ([]sse.Event, bool) {
	if n > l.sent || l.discarded {
		return nil, false
	}
	l.storeRest()
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
		number := n + int64(i) + 1
		if l.shared {
			var ok bool
			if msg, ok = cutNumber(number, msg); !ok {
				return nil, false
			}
		}
		events[i] = sse.Event{ID: l.id(number), Name: "message", Data: msg}
	}
	return events, true
}

// numbered returns an event for a store that other processes read, which cannot know otherwise
// whether the store has removed events.
func numbered(n int64, msg []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(msg)), uint64(n)), msg...)
}

// cutNumber returns the message of an event of such a store. It reports false if the event has
// another number.
func cutNumber(n int64, event []byte) (msg []byte, ok bool) {
	if len(event) < 8 || binary.BigEndian.Uint64(event) != uint64(n) {
		return nil, false
	}
	return event[8:], true
}

func (l *eventLog) trim(n int64) {
	if n > 0 && !l.discarded {
		l.call("forget events", func(ctx context.Context) error { return l.store.Trim(ctx, l.name, n) })
	}
}

// discardLocked removes all events from the store. The stream cannot be resumed any
// more.
func (l *eventLog) discardLocked() {
	l.trim(math.MaxInt64)
	l.discarded, l.unstored = true, nil
}

func (l *eventLog) call(what string, f func(context.Context) error) bool {
	ctx := context.Background()
	if _, own := l.store.(*eventMemory); !own { // eventMemory never blocks
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

func (l *eventLog) id(n int64) string { return eventID(l.name, n) }

func eventID(stream string, n int64) string { return stream + "-" + strconv.FormatInt(n, 10) }

// parseEventID returns the name of the stream and the number that an event id
// consists of.
func parseEventID(id string) (stream string, n int64, ok bool) {
	stream, number, ok := strings.Cut(id, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	return stream, n, ok && err == nil && n >= 0 && strconv.FormatInt(n, 10) == number
}

// eventNotFound refuses to resume after an event that is not one of the session's, or
// that the store does not have any more. It does not say which, so that a client cannot
// find out the ids of others.
var eventNotFound = refuse(http.StatusBadRequest, "last event id: not known here, or not any more: the stream cannot be resumed")
