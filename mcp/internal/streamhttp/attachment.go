package streamhttp

import (
	"errors"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// attachment is one connection that copies a stream. A stream has at most one:
// the next takes over, because a client that comes back often does so before the
// server has noticed that its last connection broke.
type attachment struct {
	stream *stream
	ctx    *lazyctx.Context // of the connection, until another takes over
}

var errTakenOver = errors.New("the stream goes on over another connection")

// attach makes a connection the one that copies the stream, until ctx ends, as it
// does when another takes over. It needs one detach. Whoever comes back has been away as he was asked to; the first
// connection may attach when the handler has already asked it to go.
func (s *stream) attach(ctx *lazyctx.Context) *attachment {
	at := &attachment{stream: s, ctx: ctx}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != nil {
		s.holder.ctx.Cancel(errTakenOver)
	}
	if s.holder != nil || s.detached {
		s.hangUp = 0
	}
	s.holder, s.detached = at, false
	return at
}

// copyTo copies the stream to its connection until the stream has ended, the
// client is to come back later, another connection takes over, or this one is
// gone, which is when its context is done or a write fails. In the first two
// cases it finishes the answer. What it has not copied stays in the stream.
func (at *attachment) copyTo(a *responder) {
	for at.ctx.Err() == nil {
		events, last := at.next(a)
		if last.over {
			return
		}
		if last.ended {
			a.finishEvents(events)
			return
		}
		if a.sendEvents(events...) != nil {
			return
		}
		if last.retry > 0 {
			a.hangUp(at.hangUpEvent(last.retry))
			return
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-at.stream.wake:
		case <-at.ctx.Done():
			return
		}
	}
}

// last says what follows the events that were taken.
type last struct {
	over  bool          // nothing, and the answer is given or another's
	ended bool          // the end of the stream
	retry time.Duration // the client is to come back after that time
}

// next takes the next events, about as many as are written in one piece, from
// the queue into the log. The reply comes last: as the whole answer, when that
// has not become an event stream.
func (at *attachment) next(a *responder) ([]sse.Event, last) {
	s := at.stream
	reply, alone := at.replyAlone()
	if alone && a.finishJSON(&reply) {
		return nil, last{over: true}
	}
	s.log.take()
	defer s.log.give()
	msgs, what := at.pop(alone)
	if len(msgs) == 0 {
		return nil, what
	}
	a.becomeStream() // tells the client an id before anything else
	return s.log.add(msgs...), what
}

// replyAlone returns the reply of an ended stream when nothing precedes it.
func (at *attachment) replyAlone() (dialect.Reply, bool) {
	s := at.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reply, s.holder == at && s.ended && s.hangUp == 0 && len(s.queue.msgs) == 0 && s.reply.Body != nil
}

// pop removes messages from the queue, and the reply once it is their turn. One
// that has come alone since replyAlone looked stays for its next look: its token
// is in wake.
func (at *attachment) pop(alone bool) (msgs [][]byte, what last) {
	s := at.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != at {
		return nil, last{over: true}
	}
	most := len(s.queue.msgs)
	if s.hangUp > 0 {
		most = s.ahead
	}
	msgs = s.queue.pop(most, writePiece)
	s.makeRoom()
	switch {
	case s.hangUp > 0:
		if s.ahead -= len(msgs); s.ahead == 0 {
			what.retry = s.hangUp
		}
	case len(s.queue.msgs) > 0:
	case s.ended && len(msgs) == 0 && s.reply.Body != nil && !alone:
	case s.ended:
		if s.reply.Body != nil {
			msgs = append(msgs, s.reply.Whole())
			s.reply = dialect.Reply{}
		}
		what.ended = true
	}
	return msgs, what
}

// detach lets go of the stream. Another connection may wait for the token that
// this one has used up.
func (at *attachment) detach() {
	s := at.stream
	s.mu.Lock()
	if s.holder == at {
		s.holder, s.detached = nil, true
		s.makeRoom()
	}
	s.signal()
	s.mu.Unlock()
	s.settle()
}

// resume attaches a connection behind event n of the stream, and returns what the
// client has missed. It reports false when that is not to be had.
func (s *stream) resume(ctx *lazyctx.Context, n int64) (at *attachment, missed []sse.Event, ok bool) {
	s.log.take()
	defer s.log.give()
	if missed, ok = s.log.after(n); !ok {
		return nil, nil, false
	}
	return s.attach(ctx), missed, true
}

// prime tells that the client is about to have an event id of the stream, and
// returns the event that tells it, which is empty: none in revisions whose
// clients would not understand it.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
func (s *stream) prime(n int64) []sse.Event {
	s.mu.Lock()
	s.known = true
	s.mu.Unlock()
	if !s.poll {
		return nil
	}
	return []sse.Event{{ID: s.log.id(n), Data: []byte{}}}
}

// hangUpEvent tells the client when to come back.
func (at *attachment) hangUpEvent(retry time.Duration) sse.Event {
	l := at.stream.log
	l.take()
	defer l.give()
	return sse.Event{ID: l.id(l.sent), Retry: retry, Data: []byte{}}
}
