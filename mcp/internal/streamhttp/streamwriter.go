package streamhttp

import (
	"errors"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// streamWriter writes a stream to one connection. A stream has at most one writer, and
// the newest one replaces the one before, because a client often reconnects before the
// server has noticed that its last connection broke.
type streamWriter struct {
	stream *stream
	ctx    *lazyctx.Context // of the connection; ends when another writer replaces this one
}

var errReplaced = errors.New("the stream continues on another connection")

// attach makes a connection the writer of the stream until ctx ends. It cancels the
// context of the writer before. Each attach needs one detach.
func (s *stream) attach(ctx *lazyctx.Context) *streamWriter {
	sw := &streamWriter{stream: s, ctx: ctx}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer != nil {
		s.writer.ctx.Cancel(errReplaced)
	}
	// A client that reconnects has obeyed the request to do so. The first connection
	// may attach after the handler made that request, which then still holds.
	if s.writer != nil || s.detached {
		s.closeRetry = 0
	}
	s.writer, s.detached = sw, false
	return sw
}

// copyTo writes the stream to the connection until one of these happens: the stream
// ends; the client is to reconnect; another writer replaces this one; the context ends
// or a write fails. In the first two cases it ends the answer. What it has not written
// stays in the stream.
func (sw *streamWriter) copyTo(a *responder) {
	for sw.ctx.Err() == nil {
		events, next := sw.next(a)
		if next.done {
			return
		}
		if next.ended {
			a.finishEvents(events)
			return
		}
		if next.open {
			a.openNow()
		}
		if a.sendEvents(events...) != nil {
			return
		}
		if next.retry > 0 {
			a.closeForRetry(sw.retryEvent(next.retry))
			return
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-sw.stream.wake:
		case <-sw.ctx.Done():
			return
		}
	}
}

// copyToLog moves the stream into the event log, from which another process reads it for the
// client, and calls wrote with that process after each write. It returns when the stream has
// ended, a connection to this process has replaced the writer, or the other process does not
// ask any more.
func (sw *streamWriter) copyToLog(ctx *lazyctx.Context, wrote func(follower string)) {
	look := time.NewTicker(followLook)
	defer look.Stop()
	for ctx.Err() == nil {
		w := sw.writeLog()
		if w.more {
			wrote(w.follower)
		}
		if w.ended || w.follower == "" {
			return
		}
		select {
		case <-sw.stream.wake:
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// logWrite is what writeLog has done.
type logWrite struct {
	follower string // the process that reads the log; empty if there is none any more
	more     bool   // the log has more events, or has got its last one
	ended    bool   // the log has all events of the stream
}

// writeLog moves what is queued into the log, until the event store fails.
func (sw *streamWriter) writeLog() (w logWrite) {
	s := sw.stream
	s.log.lock()
	defer s.log.unlock()
	before := s.log.stored()
	defer func() { w.more = w.ended || s.log.stored() > before }()
	s.log.storeRest()
	for {
		w.follower = s.currentFollower()
		if w.follower == "" || len(s.log.unstored) > 0 {
			return w
		}
		msgs, next := sw.pop(true)
		s.log.add(msgs...)
		next.replied.replied()
		if next.done {
			return logWrite{}
		}
		w.ended = next.ended && len(s.log.unstored) == 0
		if next.ended || len(msgs) == 0 {
			return w
		}
	}
}

// currentFollower returns the process that reads the stream from the event log now, or nothing.
func (s *stream) currentFollower() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeRetry = 0 // there is no connection to close
	if time.Now().After(s.followed) {
		s.follower = ""
	}
	return s.follower
}

// followUntil records that another process reads the stream from the event log until then. It
// reports false if a writer does that already.
func (s *stream) followUntil(process string, until time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.follower != "" && s.writer != nil
	s.follower, s.followed = process, until
	return !running
}

// following says what comes after the events that were taken.
type following struct {
	done  bool          // nothing: the answer is complete, or another writer has the stream
	ended bool          // the end of the stream
	retry time.Duration // the client is to reconnect after this time
	open  bool          // the client has to get an event id now

	replied *continuation // unless nil, the last message is the reply
}

// next moves the next events from the queue into the log, about as many as are written
// at once. The reply comes last, and is a JSON answer if the answer has not become an
// event stream.
func (sw *streamWriter) next(a *responder) ([]sse.Event, following) {
	s := sw.stream
	reply, alone := sw.replyAlone()
	if alone && a.finishJSON(&reply) {
		return nil, following{done: true}
	}
	s.log.lock()
	defer s.log.unlock()
	msgs, next := sw.pop(alone)
	if len(msgs) == 0 {
		return nil, next
	}
	a.startStream() // its first event has an id, which the client gets before any message
	events := s.log.add(msgs...)
	next.replied.replied()
	return events, next
}

// replyAlone returns the reply of an ended stream if no message precedes it. A reply that other
// processes can continue is an event.
func (sw *streamWriter) replyAlone() (dialect.Reply, bool) {
	s := sw.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reply, s.writer == sw && s.ended && s.closeRetry == 0 && len(s.queue.msgs) == 0 && s.reply.Body != nil && s.continued == nil
}

// pop removes messages from the queue, and the reply once they are all removed. A reply
// that became the only content after replyAlone stays for the next call of replyAlone;
// wake has a token for it.
func (sw *streamWriter) pop(alone bool) (msgs [][]byte, next following) {
	s := sw.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer != sw {
		return nil, following{done: true}
	}
	maxCount := len(s.queue.msgs)
	if s.closeRetry > 0 {
		maxCount = s.beforeClose
	}
	msgs = s.queue.pop(maxCount, writePiece)
	next.open = s.continued.opens()
	s.makeRoom()
	switch {
	case s.closeRetry > 0:
		if s.beforeClose -= len(msgs); s.beforeClose == 0 {
			next.retry = s.closeRetry
		}
	case len(s.queue.msgs) > 0:
	case s.ended && len(msgs) == 0 && s.reply.Body != nil && !alone && s.continued == nil:
	case s.ended:
		if s.reply.Body != nil {
			msgs = append(msgs, s.reply.Whole())
			s.reply, next.replied = dialect.Reply{}, s.continued
		}
		next.ended = true
	}
	return msgs, next
}

// detach ends the writing. It puts a token back into wake, because the writer that
// replaces this one may wait for the token that this one has taken.
func (sw *streamWriter) detach() {
	s := sw.stream
	s.mu.Lock()
	if s.writer == sw {
		s.writer, s.detached = nil, true
		s.queue.settle()
		s.makeRoom()
	}
	s.signal()
	s.mu.Unlock()
	s.moveToLog()
}

// resume attaches a connection after event n of the stream, and returns the events that
// the client has missed. It reports false if the log does not have them.
func (s *stream) resume(ctx *lazyctx.Context, n int64) (sw *streamWriter, missed []sse.Event, ok bool) {
	s.log.lock()
	defer s.log.unlock()
	if missed, ok = s.log.after(n); !ok {
		return nil, nil, false
	}
	return s.attach(ctx), missed, true
}

// primingEvent marks the stream as resumable, and returns the empty event with which the
// client gets an event id. It returns none for revisions whose clients would not
// understand that event.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
func (s *stream) primingEvent(n int64) []sse.Event {
	s.mu.Lock()
	s.resumable = true
	continued := s.continued != nil
	s.mu.Unlock()
	switch {
	case s.canReconnect:
	case continued:
		return []sse.Event{{ID: s.log.id(n)}} // no message for the client, which keeps the id
	default:
		return nil
	}
	return []sse.Event{{ID: s.log.id(n), Data: []byte{}}}
}

// retryEvent returns the event that asks the client to reconnect after the given time.
func (sw *streamWriter) retryEvent(retry time.Duration) sse.Event {
	l := sw.stream.log
	l.lock()
	defer l.unlock()
	return sse.Event{ID: l.id(l.sent), Retry: retry, Data: []byte{}}
}
