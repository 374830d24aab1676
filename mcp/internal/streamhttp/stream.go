package streamhttp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// maxStreamQueue bounds the messages that wait in one stream.
const maxStreamQueue = 256

// stream holds the messages of one stream of a session until a connection has written
// them: those of one request, with the reply last, or those of no request. It belongs to
// the session and outlives its connections:
//
//	Send, offer, end ──> queue ──> attached connection
//	                        └────> event log ──> connection that resumes
//
// The queue holds 256 messages or 4 MiB, and one message of any size. When it
// is full, Send waits for the attached connection and fails when there is none;
// tryQueue fails at once. The reply does not count and is never dropped.
type stream struct {
	session      *session  // to whose owner the messages count
	log          *eventLog // nil when the stream cannot be resumed
	canReconnect bool      // the client reconnects when its connection is closed
	standalone   bool      // for messages of no request
	calls        []string  // the ids of the requests
	recording    turn      // held while its record is written
	recorded     bool      // guarded by recording: the record was written, see sharedStreams.put
	of           *session  // nil unless other processes can resume the stream of a call

	mu          sync.Mutex
	queue       queue
	writer      *streamWriter // nil until a connection attaches, and after it detaches
	detached    bool
	resumable   bool // the client has an event id of the stream
	ended       bool
	reply       dialect.Reply
	closeRetry  time.Duration // unless 0: close the connection, and ask the client to reconnect after this time
	beforeClose int           // number of messages in the queue that are sent before that
	follower    string        // the process that reads the stream from the event log, while followed
	followed    time.Time     // until then
	continued   *continuation // nil unless another process can reply in place of this one
	wake        chan struct{} // one token for the writer: there is something to write
	room        chan struct{} // closed when a full queue may have room again; nil while no Send waits
}

var (
	_ exchange.BackChannel  = (*stream)(nil)
	_ exchange.StreamCloser = (*stream)(nil)
)

// newStream returns a stream of a session, to which a connection is about to attach.
func newStream(s *session) *stream { return &stream{session: s, wake: make(chan struct{}, 1)} }

var errStreamEnded = errors.New("the stream has ended")

// Send queues a message that belongs to the request.
func (s *stream) Send(ctx context.Context, msg []byte) error {
	for {
		room, err := s.queueOrRoom(msg)
		if room == nil {
			if err == errQueueKept {
				s.session.reached(mcp.LimitKept)
			}
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// queueOrRoom queues a message. If there is no room and a writer is about to make some, it
// returns a channel that is closed when there may be room.
func (s *stream) queueOrRoom(msg []byte) (room <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.push(msg)
	if err == nil || err == errStreamEnded || s.detached || len(s.queue.msgs) == 0 && !s.queue.isWriting() {
		return nil, err
	}
	if s.room == nil {
		s.room = make(chan struct{})
	}
	return s.room, nil
}

// tryQueue queues a message if there is room. Otherwise it fails as queue.push does, or with
// errStreamEnded.
func (s *stream) tryQueue(msg []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(msg)
}

// evictQueue implements queueHolder. It ends the session, so that the client learns that
// messages are missing.
func (s *stream) evictQueue() {
	s.mu.Lock()
	full := s.queue.large != nil
	s.queue.take()
	s.makeRoom()
	s.mu.Unlock()
	if full {
		s.session.reached(mcp.LimitKept)
		s.session.table.end(s.session, errEvicted)
	}
}

// CloseStream implements exchange.StreamCloser: it closes the connection after what is queued.
// Without a connection it does nothing.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server, on closing the connection
func (s *stream) CloseStream(retry time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canReconnect || s.ended {
		return false
	}
	if !s.detached && s.closeRetry == 0 {
		s.closeRetry, s.beforeClose = retry, len(s.queue.msgs)
		s.signal()
	}
	return true
}

// end ends the stream after what is queued, with the reply if it has a body.
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

// moveToLog moves the rest of an ended stream without a writer to the event log, so that
// the bounds of the store hold for clients that may never reconnect. It reports whether
// the client can resume the stream.
func (s *stream) moveToLog() bool {
	s.log.lock()
	defer s.log.unlock()
	msgs, resumable, replied := s.takeUnsent()
	if len(msgs) > 0 {
		s.log.add(msgs...)
	}
	replied.replied()
	return resumable
}

// takeUnsent removes the messages of an ended stream without a writer, and returns them
// if the client can resume the stream. replied is set if the reply is among them.
func (s *stream) takeUnsent() (msgs [][]byte, resumable bool, replied *continuation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended || !s.detached || s.standalone {
		return nil, s.resumable, nil
	}
	if s.reply.Body != nil {
		replied = s.continued
	}
	waiting := s.queue.take()
	if s.resumable {
		msgs = waiting
		if s.reply.Body != nil {
			msgs = append(msgs, s.reply.Whole())
		}
	}
	s.reply = dialect.Reply{}
	return msgs, s.resumable, replied
}

// takeQueued removes and returns the messages in the queue.
func (s *stream) takeQueued() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.take()
}

// state reports whether the stream has a writer, and whether it has ended.
func (s *stream) state() (attached, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writer != nil, s.ended
}

// discardLog removes the events of the stream from the log.
func (s *stream) discardLog() {
	s.log.discard()
}

// reopen makes a stream usable that was ended because the session had too many.
func (s *stream) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = false
}

// The methods below need the lock.

func (s *stream) push(msg []byte) error {
	if s.ended {
		return errStreamEnded
	}
	err := s.queue.push(msg, maxStreamQueue, s.session, s)
	if err == nil {
		s.signal()
	}
	return err
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
