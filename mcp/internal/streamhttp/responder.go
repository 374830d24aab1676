package streamhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/sse"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

const (
	// writePiece is the number of bytes that a client must accept within the write timeout.
	writePiece = 64 << 10
	// writeAtOnce is the maximum size of one write, whose deadline allows one timeout per
	// piece. Larger writes are fewer, but no longer fit into the processor's caches.
	writeAtOnce = 2 * writePiece
)

// responder writes the answer to one HTTP request. The answer is JSON if the reply is its
// only message, and becomes an event stream with the first message that precedes the reply,
// or when the reply takes longer than jsonTimeout. It is safe for concurrent use.
//
// When a client takes too long to accept a piece, that write and every later one fail
// with the same error.
type responder struct {
	w http.ResponseWriter
	o *Options
	// cancelled is cancelled at the first failure, with its error. May be nil.
	cancelled *lazyctx.Context
	// unsent counts the large results of this answer, which belong to owner. Nil is
	// unbounded.
	unsent *exchange.UnsentLimit
	owner  limit.Owner
	// interrupted is set, once, by interrupt and close.
	interrupted atomic.Int32
	madeRoom    bool // the answer was ended because unsent was full
	// beforeStream is called without the lock before the answer becomes an event stream, by
	// several goroutines or more than once. It may call a Store. May be nil.
	beforeStream func()
	// firstEvents returns the first events of an event stream. May be nil.
	firstEvents func() []sse.Event

	mu       sync.Mutex
	stream   bool // the answer has become an event stream
	ended    bool // the answer has ended: w must not be used any more
	warned   bool // warnNoFlush has logged that w cannot flush
	err      error
	timer    *time.Timer // for the next comment; nil until one is needed
	deadline time.Time   // the most recent write deadline

	ticks    sync.WaitGroup // ticks that a timer has started or will start
	timeouts *jsonTimeouts  // nil unless the answer becomes a stream after jsonTimeout
	timeout  timeoutEntry   // guarded by timeouts.mu
}

// Values of responder.interrupted: why the answer can no longer be written.
const (
	notInterrupted int32 = iota
	interruptedByEviction
	interruptedByClose
)

var _ exchange.BackChannel = (*responder)(nil)

// newResponder returns a responder that needs a finish or an abandon before the
// HTTP handler returns.
func newResponder(w http.ResponseWriter, o *Options, cancelled *lazyctx.Context) *responder {
	return &responder{w: w, o: o, cancelled: cancelled}
}

// open makes the answer an event stream now, and writes events.
func (a *responder) open(events ...sse.Event) error {
	a.prepareStream()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.openLocked(events)
	return a.err
}

func (a *responder) openLocked(events []sse.Event) {
	defer a.contain()
	a.writeStreamHeader(0)
	for _, ev := range events {
		a.writeEvent(ev)
	}
	a.flush()
	a.keepAlive(a.o.keepAlive())
}

// tick keeps the connection alive: it opens the event stream, or sends a comment on it.
// It runs on a goroutine of its own. Its starter adds one to ticks before.
func (a *responder) tick() {
	defer a.ticks.Done()
	a.prepareStream()
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.contain()
	switch {
	case a.ended || a.err != nil:
		return
	case !a.stream:
		a.writeStreamHeader(0)
	default:
		a.write(emptyComment)
	}
	a.flush()
	a.keepAlive(a.o.keepAlive())
}

// emptyComment keeps an idle connection open.
var emptyComment = sse.AppendComment(nil, "")

var errAnswered = errors.New("the request has been answered")

// Send sends one message as an event. It returns when the client has accepted the data before
// it, or with an error when the write timeout has passed.
func (a *responder) Send(_ context.Context, msg []byte) error {
	return a.sendEvents(sse.Event{Name: "message", Data: msg})
}

// sendEvents is Send for several events.
func (a *responder) sendEvents(events ...sse.Event) error {
	wireOf(a.w).events(events)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return errAnswered
	case len(events) > 0:
		a.sendEventsLocked(events)
	}
	return a.err
}

func (a *responder) sendEventsLocked(events []sse.Event) {
	defer a.contain()
	a.events(events)
	a.flush()
}

// prepareStream calls beforeStream, unless the answer is an event stream or has ended.
func (a *responder) prepareStream() {
	if a.beforeStream == nil {
		return
	}
	a.mu.Lock()
	needed := !a.stream && !a.ended && a.err == nil
	a.mu.Unlock()
	if needed {
		a.beforeStream()
	}
}

// startStream makes the answer an event stream if it is none yet. The next write flushes
// it.
func (a *responder) startStream() {
	a.prepareStream()
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.contain()
	if !a.ended {
		a.startStreamLocked()
	}
}

// openNow makes the answer an event stream if it is none yet, and sends its first events.
func (a *responder) openNow() {
	a.startStream()
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.contain()
	if !a.ended && a.err == nil {
		a.flush()
	}
}

// finishJSON ends the answer with the reply as JSON. If the reply must be an event, it does
// nothing and returns false.
func (a *responder) finishJSON(reply *dialect.Reply) bool {
	done := a.tryJSON(reply)
	if done {
		wireOf(a.w).reply(reply, false)
	}
	return done
}

func (a *responder) tryJSON(reply *dialect.Reply) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.contain()
	if a.stream || a.repliesByEvent(reply) {
		return false
	}
	a.stopTicks()
	a.json(reply)
	a.end()
	return true
}

// closeForRetry ends the answer with an event that asks the client to reconnect.
func (a *responder) closeForRetry(ev sse.Event) {
	_ = a.sendEvents(ev)
	a.abandon()
}

// finishEvents ends the answer with the last events of its stream.
func (a *responder) finishEvents(events []sse.Event) {
	if len(events) == 0 {
		a.finish(new(dialect.Reply))
		return
	}
	wireOf(a.w).events(events)
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.contain()
	if !a.ended {
		a.stopTicks()
		a.events(events)
		a.end()
	}
}

// finish ends the answer with the reply to the request. If the client has cancelled the
// request, reply has no body: the answer is then an event stream without a message or, with
// AnswerJSON, the status 202.
func (a *responder) finish(reply *dialect.Reply) {
	a.writeReply(reply)
	wireOf(a.w).reply(reply, a.stream)
}

func (a *responder) writeReply(reply *dialect.Reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.end()
	defer a.contain()
	a.stopTicks()
	switch {
	case reply.Body != nil && (a.stream || a.repliesByEvent(reply)):
		a.event(reply)
	case a.stream:
	case reply.Body != nil:
		a.json(reply)
	case a.o.answer() == AnswerJSON:
		a.w.WriteHeader(http.StatusAccepted)
	default:
		a.firstEvents = nil // the client has nothing to resume
		a.writeStreamHeader(0)
	}
}

// abandon ends the answer as it is, unless it has ended, and waits for its ticks. If the
// client took too long to accept data, it reports the limit. If w panicked, it aborts the response.
// Only the goroutine of the HTTP handler may call it.
func (a *responder) abandon() {
	a.endLocking()
	a.ticks.Wait()
	slow, madeRoom, panicked := a.takeFailure()
	if madeRoom {
		a.o.reached(mcp.LimitUnsent, a.owner.Principal())
	}
	if slow {
		a.o.reached(mcp.LimitStreamWrite, mcp.PrincipalAnonymous)
	}
	if panicked != nil {
		a.o.logPanic(context.Background(), responseWriterPanicked, panicked)
		panic(http.ErrAbortHandler)
	}
}

// close fails every later write, and ends the write in progress, which holds the lock. It
// leaves the write deadline alone if nothing is being written, so that net/http can still
// send the end of the answer. It must return before the HTTP handler does.
func (a *responder) close() {
	a.interrupted.CompareAndSwap(notInterrupted, interruptedByClose)
	if a.mu.TryLock() {
		a.mu.Unlock()
		return
	}
	a.expireWrite()
}

// interrupt ends the write in progress, and fails every later one. It does not wait for the
// lock, which the writing goroutine holds. It must return before the HTTP handler does.
func (a *responder) interrupt() {
	a.interrupted.CompareAndSwap(notInterrupted, interruptedByEviction)
	a.expireWrite()
}

// expireWrite makes a Write of the http.ResponseWriter that is in progress fail at once.
func (a *responder) expireWrite() {
	err := usercode.Run(func() error { return http.NewResponseController(a.w).SetWriteDeadline(time.Unix(1, 0)) })
	if p, ok := err.(*usercode.Panic); ok {
		a.o.logPanic(context.Background(), responseWriterPanicked, p)
	}
}

// interruption returns the error of a write after interrupt or close, or nil. To notice both,
// it is called after the write deadline is set and before the write: expireWrite comes after
// the change of interrupted.
func (a *responder) interruption() error {
	switch a.interrupted.Load() {
	case interruptedByEviction:
		return errEvicted
	case interruptedByClose:
		return io.ErrClosedPipe
	}
	return nil
}

func (a *responder) endLocking() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end()
}

// takeFailure reports, once, whether the client took too long to accept data, whether the
// answer was ended because unsent was full, and the panic of w.
func (a *responder) takeFailure() (slow, madeRoom bool, panicked *usercode.Panic) {
	a.mu.Lock()
	defer a.mu.Unlock()
	slow = errors.Is(a.err, os.ErrDeadlineExceeded)
	if slow {
		a.err = errSlow
	}
	if p, ok := a.err.(writerPanic); ok {
		panicked, a.err = p.Panic, errAborted
	}
	madeRoom, a.madeRoom = a.madeRoom, false
	return slow && !madeRoom, madeRoom, panicked
}

// errAborted replaces the panic of w, after that is logged.
var errAborted = errors.New("the response was aborted")

// errSlow replaces the error of a client that took too long, after that is reported.
var errSlow = errors.New("the client took too long to accept what was sent")

// repliesByEvent reports whether the reply must be an event although the answer is not an
// event stream yet.
func (a *responder) repliesByEvent(reply *dialect.Reply) bool {
	return a.o.answer() == AnswerStream && reply.Status == http.StatusOK
}

// The methods below need the lock.

func (a *responder) end() {
	a.ended = true
	a.stopTicks()
}

// stopTicks starts no further tick. An answer that is about to be written to its end needs
// none.
func (a *responder) stopTicks() {
	if a.timeouts != nil {
		a.timeouts.remove(a)
	}
	a.stopTimer()
}

// keepAlive sends a comment after the given time, and further ones at the interval of the
// options.
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
	place, ok := a.charge(reply.Size())
	if !ok {
		return
	}
	defer a.release(place)
	a.o.setConnectionClose(a.w.Header())
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
	a.writeChunks(func(p *chunkWriter) { p.reply(reply) })
}

// event writes a reply as an event, as the whole answer if the answer is not an event stream
// yet. A reply is one line, so its event has one data line.
func (a *responder) event(reply *dialect.Reply) {
	const before, behind = "event: message\ndata: ", "\n\n"
	place, ok := a.charge(reply.Size())
	if !ok {
		return
	}
	defer a.release(place)
	if !a.stream {
		a.writeStreamHeader(len(before) + reply.Size() + len(behind))
	}
	a.writeChunks(func(p *chunkWriter) {
		p.add([]byte(before))
		p.reply(reply)
		p.add([]byte(behind))
	})
}

// announce sets Content-Length for answers that are larger than the buffer of net/http, which
// would otherwise use chunked encoding.
func (a *responder) announce(size int) {
	const buffered = 2048
	if size > buffered {
		a.w.Header().Set(httpheader.ContentLength, strconv.Itoa(size))
	}
}

// startStreamLocked makes the answer an event stream if it is none yet. Its first keep-alive
// comment is sent at jsonTimeout, by the timer that all answers share, unless KeepAlive is
// shorter. Most streams end before and need no timer of their own.
func (a *responder) startStreamLocked() {
	if a.stream || a.err != nil {
		return
	}
	a.writeStreamHeader(0)
	if interval := a.o.keepAlive(); interval < jsonTimeout && a.timeouts != nil {
		a.timeouts.remove(a)
		a.keepAlive(interval)
	}
}

// writeStreamHeader writes the header of an event stream, which the next flush sends. size is
// the size of the body, or 0 if it is unknown. The header asks proxies to forward every event
// at once.
//
// Spec: 2026-07-28 basic/transports#streamable-http
func (a *responder) writeStreamHeader(size int) {
	a.stream = true
	h := a.w.Header()
	a.o.setConnectionClose(h)
	h.Set(httpheader.ContentType, httpheader.TypeEventStream)
	h.Set(httpheader.CacheControl, "no-cache, no-transform")
	h.Set(httpheader.AccelBuffering, "no")
	if a.firstEvents == nil {
		a.announce(size)
	}
	a.w.WriteHeader(http.StatusOK)
	if a.firstEvents != nil {
		for _, ev := range a.firstEvents() {
			a.writeEvent(ev)
		}
	}
}

// events writes events. A flush or the end of the HTTP handler sends them.
func (a *responder) events(events []sse.Event) {
	a.startStreamLocked()
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

// buffers holds buffers for encoding events. They are pooled because most streams are idle
// most of the time.
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
	place, ok := a.charge(len(ev.Data))
	if !ok {
		return
	}
	defer a.release(place)
	line := ev.Data
	ev.Data = []byte{}
	empty := sse.AppendEvent(nil, ev)
	behind := len(empty) - len("\n\n")
	a.writeChunks(func(p *chunkWriter) {
		p.add(empty[:behind])
		p.add(line)
		p.add(empty[behind:])
	})
}

func isLine(data []byte) bool {
	return bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0
}

// write writes p, each piece within the write timeout. After a failure it does nothing.
func (a *responder) write(p []byte) {
	for chunk := range slices.Chunk(p, writeAtOnce) {
		if a.err != nil {
			return
		}
		a.setDeadline(len(chunk))
		if err := a.interruption(); err != nil {
			a.fail(err)
			return
		}
		if _, err := a.w.Write(chunk); err != nil {
			a.fail(cmp.Or(a.interruption(), err))
		}
	}
}

// flush sends the events that were written.
func (a *responder) flush() {
	if a.err != nil {
		return
	}
	a.setDeadline(0)
	if err := a.interruption(); err != nil {
		a.fail(err)
		return
	}
	switch err := http.NewResponseController(a.w).Flush(); {
	case errors.Is(err, http.ErrNotSupported):
		a.warnNoFlush()
	case err != nil:
		a.fail(cmp.Or(a.interruption(), err))
	}
}

// warnNoFlush logs, once, that events are delayed until the end of the answer.
func (a *responder) warnNoFlush() {
	if !a.warned {
		a.warned = true
		a.o.logger().Warn("streamhttp: events are held back: a middleware's http.ResponseWriter has neither Flush nor Unwrap")
	}
}

// setDeadline sets the deadline for the next write, of size bytes. A flush, with size 0,
// reuses the deadline of a recent write. The http.Server removes the deadline after the
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
		if a.cancelled != nil {
			a.cancelled.Cancel(err)
		}
	}
}
