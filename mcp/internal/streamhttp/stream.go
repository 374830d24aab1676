package streamhttp

import (
	"context"
	"errors"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// maxWaiting bounds the messages that wait in one stream.
const maxWaiting = 256

// stream holds what the server sends on one stream of a session until the
// attached connection has copied it: everything that belongs to one request and
// last the reply, or what belongs to none. It belongs to the session, so that
// it outlives the connection.
//
// The queue holds 256 messages or 4 MiB, and one message of any size. When it
// is full, Send waits for the attached connection and fails when there is none;
// offer fails at once. The reply does not count and is never dropped.
type stream struct {
	mu       sync.Mutex
	queue    queue
	detached bool
	ended    bool
	reply    dialect.Reply
	wake     chan struct{} // one token for the connection: there is something to copy
	room     chan struct{} // closed when a full queue may have room again; nil while nobody waits
}

var _ exchange.Back = (*stream)(nil)

// newStream returns a stream with a connection attached, which is to call copyTo.
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

// copyTo copies the stream to a connection until the stream has ended or the
// connection is gone, which is when ctx is done or a write fails. Only in the
// first case it finishes the answer. What it has not copied stays in the stream.
func (s *stream) copyTo(ctx context.Context, a *responder) {
	defer s.detach()
	for {
		msgs, ended := s.take()
		switch {
		case a.sendAll(msgs...) != nil:
			return
		case ended:
			a.finish(s.reply)
			return
		case len(msgs) > 0:
			continue
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// take removes the next messages, about as many as are written in one piece. It
// reports whether nothing can follow them but the reply, which is set then.
func (s *stream) take() (msgs [][]byte, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	msgs = s.queue.pop(writePiece)
	s.makeRoom()
	return msgs, s.ended && len(s.queue.msgs) == 0
}

// rest ends the stream and returns what it still held.
func (s *stream) rest() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.queue.msgs
	s.queue, s.ended = queue{}, true
	return rest
}

func (s *stream) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detached = true
	s.makeRoom()
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
