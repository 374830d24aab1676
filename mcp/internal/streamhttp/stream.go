package streamhttp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// maxWaiting bounds the messages that wait in one stream.
const maxWaiting = 256

// stream holds what the server sends on one stream of a session until the
// attached connection has copied it: everything that belongs to one request and
// last the reply, or what belongs to none. It belongs to the session, so that
// it outlives the connection:
//
//	Send, offer, end ──> queue ──> attached connection
//	                        └────> event log ──> connection that resumes
//
// The queue holds 256 messages or 4 MiB, and one message of any size. When it
// is full, Send waits for the attached connection and fails when there is none;
// offer fails at once. The reply does not count and is never dropped.
type stream struct {
	log      *eventLog // nil when the stream cannot be resumed
	poll     bool      // the client comes back when its connection is closed
	resident bool      // for what belongs to no request

	mu       sync.Mutex
	queue    queue
	holder   *attachment // the connection that copies, once it does
	detached bool
	known    bool // the client has an event id of the stream
	ended    bool
	reply    dialect.Reply
	hangUp   time.Duration // the connection is to be closed, and the client to wait so long; 0 for none
	ahead    int           // the messages in the queue that are sent before that
	wake     chan struct{} // one token for the connection: there is something to copy
	room     chan struct{} // closed when a full queue may have room again; nil while nobody waits
}

var (
	_ exchange.Back   = (*stream)(nil)
	_ exchange.Poller = (*stream)(nil)
)

// newStream returns a stream with a connection about to attach.
func newStream() *stream { return &stream{wake: make(chan struct{}, 1)} }

var (
	errStreamFull  = errors.New("the client does not read: too many messages wait for it")
	errStreamEnded = errors.New("the stream has ended")
)

// Send queues a message that belongs to the request.
func (s *stream) Send(ctx context.Context, msg []byte) error {
	for {
		room, err := s.put(msg)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// put queues a message. When there is no room but a connection that makes some,
// it returns a channel that is closed when it has.
func (s *stream) put(msg []byte) (room <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, errStreamEnded
	case s.queue.fits(msg, maxWaiting):
		s.push(msg)
		return nil, nil
	case s.detached:
		return nil, errStreamFull
	}
	if s.room == nil {
		s.room = make(chan struct{})
	}
	return s.room, nil
}

// offer queues a message and reports whether there was room.
func (s *stream) offer(msg []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || !s.queue.fits(msg, maxWaiting) {
		return false
	}
	s.push(msg)
	return true
}

// HangUp implements exchange.Poller: what is queued is still sent, and then the
// connection closed. Without one there is nothing to do.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server, on closing the connection
func (s *stream) HangUp(retry time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.poll || s.ended {
		return false
	}
	if !s.detached && s.hangUp == 0 {
		s.hangUp, s.ahead = retry, len(s.queue.msgs)
		s.signal()
	}
	return true
}

// end ends the stream behind what is queued, with the reply if it has a body.
func (s *stream) end(reply dialect.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.reply = true, reply
	s.signal()
	s.makeRoom()
}

// settle moves the rest of an ended stream to the event log when no connection is
// there to take it, so that the store bounds what is kept for clients that may
// never come back. It reports whether the client may: it knows an id then.
func (s *stream) settle() bool {
	s.log.take()
	defer s.log.give()
	msgs, known := s.leftBehind()
	if len(msgs) > 0 {
		s.log.add(msgs...)
	}
	return known
}

// leftBehind removes what an ended stream holds that has no connection, and returns
// it if the client knows an id by which it can come back.
func (s *stream) leftBehind() (msgs [][]byte, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended || !s.detached || s.resident {
		return nil, s.known
	}
	if s.known {
		msgs = s.queue.msgs
		if s.reply.Body != nil {
			msgs = append(msgs, s.reply.Whole())
		}
	}
	s.queue, s.reply = queue{}, dialect.Reply{}
	return msgs, s.known
}

// rest returns what the stream still held for connections.
func (s *stream) rest() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.queue.msgs
	s.queue = queue{}
	return rest
}

// state reports whether a connection copies the stream, and whether it has ended.
func (s *stream) state() (attached, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holder != nil, s.ended
}

// forget gives up what was kept for a client that comes back.
func (s *stream) forget() {
	s.log.forget()
}

// revive lets a stream that ended because there were too many be used again.
func (s *stream) revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = false
}

// The methods below need the lock.

func (s *stream) push(msg []byte) {
	s.queue.push(msg)
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stream) makeRoom() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}
