package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

const (
	// writePiece is what a client has to accept within the write timeout.
	writePiece = 64 << 10
	// writeAtOnce is how much is written at once, with as many timeouts as pieces:
	// each write costs, but what is written must not outgrow the nearest caches.
	writeAtOnce = 2 * writePiece
)

// responder writes the answer to one HTTP request. It is JSON as long as there
// is nothing but the reply, and an event stream from the first message that
// comes before it, or when the reply takes long. It is safe for concurrent use.
//
// A client that takes too long to accept a piece is given up: every later write
// fails with the same error.
type responder struct {
	w http.ResponseWriter
	o *Options
	// lost is cancelled at the first failure, with its error. May be nil.
	lost *lazyctx.Context
	// opening returns the events that an event stream begins with. May be nil.
	opening func() []sse.Event

	mu       sync.Mutex
	stream   bool // the answer has become an event stream
	over     bool // the answer has ended: w is not to be touched any more
	held     bool // w cannot flush
	err      error
	timer    *time.Timer // for the next comment; nil as long as none is needed
	deadline time.Time   // of the write that was last given one

	ticks    sync.WaitGroup // ticks that a timer has started or will start
	timeouts *jsonTimeouts  // nil unless the answer becomes a stream after jsonTimeout
	timeout  timeoutEntry   // guarded by timeouts.mu
}

var _ exchange.Back = (*responder)(nil)

// newResponder returns a responder that needs a finish or an abandon before the
// HTTP handler returns.
func newResponder(w http.ResponseWriter, o *Options, lost *lazyctx.Context) *responder {
	return &responder{w: w, o: o, lost: lost}
}

// open makes the answer an event stream now, with events to begin with.
func (a *responder) open(events ...sse.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.openStream(0)
	for _, ev := range events {
		a.writeEvent(ev)
	}
	a.flush()
	a.keepAlive(a.o.keepAlive())
	return a.err
}

// tick shows that the answer is still being worked on: it opens the event stream,
// or sends a comment on it. It runs on a goroutine of its own. Whoever starts it
// adds one to ticks before.
func (a *responder) tick() {
	defer a.ticks.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over || a.err != nil:
		return
	case !a.stream:
		a.openStream(0)
	default:
		a.write(emptyComment)
	}
	a.flush()
	a.keepAlive(a.o.keepAlive())
}

// emptyComment keeps an idle connection open.
var emptyComment = sse.AppendComment(nil, "")

var errAnswered = errors.New("the request has been answered")

// Send sends one message as an event and returns when the client has accepted
// what came before it, or has failed to within the write timeout.
func (a *responder) Send(_ context.Context, msg []byte) error {
	return a.sendEvents(sse.Event{Name: "message", Data: msg})
}

// sendEvents is Send for several events.
func (a *responder) sendEvents(events ...sse.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		return errAnswered
	case len(events) > 0:
		a.events(events)
		a.flush()
	}
	return a.err
}

// becomeStream makes the answer an event stream if it is none yet. What follows
// sees to it that the beginning leaves.
func (a *responder) becomeStream() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.beginEvents()
	}
}

// finishJSON ends the answer with the reply as JSON. It reports false, and does
// nothing, where the reply has to be an event.
func (a *responder) finishJSON(reply *dialect.Reply) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream || a.repliesByEvent(reply) {
		return false
	}
	a.json(reply)
	a.end()
	return true
}

// hangUp ends the answer with an event that tells the client to come back.
func (a *responder) hangUp(ev sse.Event) {
	_ = a.sendEvents(ev)
	a.abandon()
}

// finishEvents ends the answer with the last events of its stream.
func (a *responder) finishEvents(events []sse.Event) {
	if len(events) == 0 {
		a.finish(new(dialect.Reply))
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.events(events)
		a.end()
	}
}

// finish ends the answer with the reply to the request, or without one when its
// caller cancelled it: an event stream without a message then, and where
// answers are always JSON the status 202.
func (a *responder) finish(reply *dialect.Reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.end()
	switch {
	case reply.Body != nil && (a.stream || a.repliesByEvent(reply)):
		a.event(reply)
	case a.stream:
	case reply.Body != nil:
		a.json(reply)
	case a.o.answer() == AnswerJSON:
		a.w.WriteHeader(http.StatusAccepted)
	default:
		a.opening = nil // nothing follows that a client could come back for
		a.openStream(0)
	}
}

// abandon ends the answer as it is, unless it has ended. It returns after the last
// tick and reports the limit when the client took too long to accept something.
func (a *responder) abandon() {
	slow := a.abandoned()
	a.ticks.Wait()
	if slow {
		a.o.reached(mcp.LimitStreamWrite, mcp.PrincipalAnonymous)
	}
}

// abandoned ends the answer and reports, once, whether its client took too long.
func (a *responder) abandoned() (slow bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end()
	slow = errors.Is(a.err, os.ErrDeadlineExceeded)
	if slow {
		a.err = errSlow
	}
	return slow
}

// errSlow is the failure of a client that was given up, once that has been told.
var errSlow = errors.New("the client took too long to accept what was sent")

// repliesByEvent reports whether the reply is to be an event although nothing
// has made the answer a stream.
func (a *responder) repliesByEvent(reply *dialect.Reply) bool {
	return a.o.answer() == AnswerStream && reply.Status == http.StatusOK
}

// The methods below need the lock.

func (a *responder) end() {
	a.over = true
	if a.timeouts != nil {
		a.timeouts.remove(a)
	}
	a.stopTimer()
}

// keepAlive sends a comment after the given time, and further ones as often as the
// options say.
func (a *responder) keepAlive(after time.Duration) {
	a.stopTimer()
	a.ticks.Add(1)
	if a.timer == nil {
		a.timer = time.AfterFunc(after, a.tick)
		return
	}
	a.timer.Reset(after)
}

func (a *responder) stopTimer() {
	if a.timer != nil && a.timer.Stop() {
		a.ticks.Done()
	}
}

func (a *responder) json(reply *dialect.Reply) {
	a.o.farewell(a.w.Header())
	a.w.Header().Set(httpheader.ContentType, httpheader.TypeJSON)
	if reply.Challenge != "" {
		a.w.Header().Set(httpheader.WWWAuthenticate, reply.Challenge)
	}
	if reply.Retry > 0 {
		a.w.Header().Set(httpheader.RetryAfter, seconds(reply.Retry))
	}
	a.announce(reply.Size())
	a.w.WriteHeader(reply.Status)
	if len(reply.Parts) == 0 {
		a.write(reply.Body)
		return
	}
	a.gather(func(p *pieces) { p.reply(reply) })
}

// event writes a reply as an event, which is the whole answer if it has not become
// an event stream yet. A reply is on one line, and so is its event.
func (a *responder) event(reply *dialect.Reply) {
	const before, behind = "event: message\ndata: ", "\n\n"
	if !a.stream {
		a.openStream(len(before) + reply.Size() + len(behind))
	}
	a.gather(func(p *pieces) {
		p.add([]byte(before))
		p.reply(reply)
		p.add([]byte(behind))
	})
}

// announce tells how long the answer is, if net/http does not find out by itself.
// It need not cut it into chunks then.
func (a *responder) announce(size int) {
	const buffered = 2048
	if size > buffered {
		a.w.Header().Set(httpheader.ContentLength, strconv.Itoa(size))
	}
}

// beginEvents makes the answer an event stream if it is none yet. The first comment
// on it is the one at jsonTimeout, unless KeepAlive asks for an earlier one: most
// streams end before either and need no timer of their own.
func (a *responder) beginEvents() {
	if a.stream {
		return
	}
	a.openStream(0)
	if interval := a.o.keepAlive(); interval < jsonTimeout && a.timeouts != nil {
		a.timeouts.remove(a)
		a.keepAlive(interval)
	}
}

// openStream begins an event stream, which a flush sends. A size is that of all
// that follows, 0 is not known. Proxies are told to pass every event on at once.
//
// Spec: 2026-07-28 basic/transports#streamable-http
func (a *responder) openStream(size int) {
	a.stream = true
	h := a.w.Header()
	a.o.farewell(h)
	h.Set(httpheader.ContentType, httpheader.TypeEventStream)
	h.Set(httpheader.CacheControl, "no-cache, no-transform")
	h.Set(httpheader.AccelBuffering, "no")
	if a.opening == nil {
		a.announce(size)
	}
	a.w.WriteHeader(http.StatusOK)
	if a.opening != nil {
		for _, ev := range a.opening() {
			a.writeEvent(ev)
		}
	}
}

// events writes events, which a flush sends, or the end of the HTTP handler.
func (a *responder) events(events []sse.Event) {
	a.beginEvents()
	for _, ev := range events {
		if a.err != nil {
			return
		}
		if len(ev.Data) > writePiece && isLine(ev.Data) {
			a.largeEvent(ev)
			continue
		}
		a.writeEvent(ev)
	}
}

// buffers are for events on their way out. A stream waits much longer than it writes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// writeEvent writes one event.
func (a *responder) writeEvent(ev sse.Event) {
	buf := buffers.Get().(*[]byte)
	*buf = sse.AppendEvent((*buf)[:0], ev)
	a.write(*buf)
	if cap(*buf) <= writePiece {
		buffers.Put(buf)
	}
}

// largeEvent writes an event with a line of data without copying that.
func (a *responder) largeEvent(ev sse.Event) {
	line := ev.Data
	ev.Data = []byte{}
	empty := sse.AppendEvent(nil, ev)
	behind := len(empty) - len("\n\n")
	a.gather(func(p *pieces) {
		p.add(empty[:behind])
		p.add(line)
		p.add(empty[behind:])
	})
}

func isLine(data []byte) bool {
	return bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0
}

// write writes p, every piece of it within the write timeout, and nothing after a
// failure.
func (a *responder) write(p []byte) {
	for chunk := range slices.Chunk(p, writeAtOnce) {
		if a.err != nil {
			return
		}
		a.setDeadline(len(chunk))
		if _, err := a.w.Write(chunk); err != nil {
			a.fail(err)
		}
	}
}

// flush sees to it that the events written so far leave.
func (a *responder) flush() {
	if a.err != nil {
		return
	}
	a.setDeadline(0)
	switch err := http.NewResponseController(a.w).Flush(); {
	case errors.Is(err, http.ErrNotSupported):
		a.warnHeld()
	case err != nil:
		a.fail(err)
	}
}

// warnHeld says once what a streaming test would find.
func (a *responder) warnHeld() {
	if !a.held {
		a.held = true
		a.o.logger().Warn("streamhttp: events are held back: a middleware's http.ResponseWriter has neither Flush nor Unwrap")
	}
}

// setDeadline covers the next write, of so many bytes. For a flush, which follows what
// was written, a deadline of a moment ago does. The http.Server lifts it after the
// request.
func (a *responder) setDeadline(size int) {
	pieces := max(1, (size+writePiece-1)/writePiece)
	deadline := time.Now().Add(time.Duration(pieces) * a.o.writeTimeout())
	if late := deadline.Sub(a.deadline); size == 0 && late >= 0 && late < a.o.writeTimeout()/16 {
		return
	}
	a.deadline = deadline
	_ = http.NewResponseController(a.w).SetWriteDeadline(deadline)
}

func (a *responder) fail(err error) {
	if a.err == nil {
		a.err = err
		if a.lost != nil {
			a.lost.Cancel(err)
		}
	}
}
