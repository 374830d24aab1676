package streamhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
)

// pushOrForward sends a message that belongs to no request, through the process that notifies
// the client.
func (s *session) pushOrForward(ctx context.Context, msg []byte) error {
	err := s.push(msg)
	switch {
	case s.shared == nil:
	case err == errNotNotifier && isAnnouncement(msg): // whose sender must not wait
		s.shared.all.background(s, func(ctx context.Context) { _ = s.shared.forward(ctx, msg) })
		return nil
	case err == errNotNotifier:
		return s.shared.forward(ctx, msg)
	default:
		s.shared.keepOwn(msg)
	}
	return err
}

// push sends a message that belongs to no request on one stream: the newest with room. A
// stream without room ends after its queued messages. It fails with errNotNotifier if another
// process notifies the client.
//
// Spec: 2025-11-25 basic/transports#multiple-connections
func (s *session) push(msg []byte) error {
	reached, err := s.tryPush(msg)
	if reached != "" {
		s.reached(reached)
	}
	return err
}

var errNotNotifier = errors.New("another process notifies the client")

// tryPush is push, and returns the limit because of which it has dropped a message or ended a
// stream, if it has.
func (s *session) tryPush(msg []byte) (reached mcp.Limit, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return "", errSessionEnded
	case !s.Notifies():
		return "", errNotNotifier
	}
	return s.pushLocked(msg), nil
}

// takeUndelivered removes and returns the messages that no connection has written. It calls
// stop first, after which push fails.
func (s *session) takeUndelivered(stop func()) (msgs [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stop()
	for _, st := range s.getStreams {
		msgs = append(msgs, st.takeQueued()...)
	}
	return append(msgs, s.undelivered.take()...)
}

// pushFirst queues the messages that another process has not delivered before those that wait.
// An announcement of a change that waits already is not repeated.
func (s *session) pushFirst(msgs [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newer := s.undelivered.take()
	for _, msg := range msgs {
		s.pushLocked(msg)
	}
	for _, msg := range newer {
		if !isAnnouncement(msg) || !slices.ContainsFunc(msgs, func(m []byte) bool { return bytes.Equal(m, msg) }) {
			s.pushLocked(msg)
		}
	}
}

func (s *session) pushLocked(msg []byte) (reached mcp.Limit) {
	for len(s.getStreams) > 0 {
		last := len(s.getStreams) - 1
		switch s.getStreams[last].tryQueue(msg) {
		case nil:
			return reached
		case errQueueKept: // nor would another stream have room
			return mcp.LimitKept
		}
		reached = mcp.LimitStreamBacklog
		s.getStreams[last].end(dialect.Reply{})
		s.getStreams = s.getStreams[:last]
	}
	return cmp.Or(s.keepUndelivered(msg), reached)
}

// keepUndelivered keeps a message until the client opens a GET stream. It drops the oldest ones
// to make room, or the message itself if there is none.
func (s *session) keepUndelivered(msg []byte) (reached mcp.Limit) {
	q := &s.undelivered
	for !s.closed {
		switch q.push(msg, maxUndelivered, s, s) {
		case nil:
			q.setIdle()
			return reached
		case errQueueKept:
			if reached = mcp.LimitKept; !q.mayFit(msg) {
				return reached
			}
		default:
			reached = mcp.LimitStreamBacklog
		}
		q.dropOldest()
	}
	return ""
}

// attachGetStream attaches a connection to a new stream for the messages that belong to
// no request, and queues the undelivered ones. Each call needs one detach.
func (s *session) attachGetStream(ctx *lazyctx.Context, st *stream) *streamWriter {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addGetStreamLocked(st)
	return st.attach(ctx)
}

// endGetStreams ends the GET streams after what is queued.
func (s *session) endGetStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.getStreams {
		st.end(dialect.Reply{})
	}
	s.getStreams = nil
}

// readdGetStream adds a resumed stream to the GET streams again, if it is one.
func (s *session) readdGetStream(st *stream) {
	if !st.standalone {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detached = without(s.detached, st)
	if !slices.Contains(s.getStreams, st) {
		st.reopen()
		s.addGetStreamLocked(st)
	}
}

// addGetStreamLocked adds a GET stream. The caller holds mu.
func (s *session) addGetStreamLocked(st *stream) {
	if s.closed {
		st.end(dialect.Reply{})
		return
	}
	waiting := s.undelivered.take()
	for len(waiting) > 0 && st.tryQueue(waiting[0]) == nil {
		waiting = waiting[1:]
	}
	for _, msg := range waiting {
		s.keepUndelivered(msg)
	}
	if len(s.getStreams) >= maxGetStreams {
		s.getStreams[0].end(dialect.Reply{})
		s.getStreams = slices.Delete(s.getStreams, 0, 1)
	}
	s.getStreams = append(s.getStreams, st)
}

// detach detaches a connection. If no other connection has replaced it, the unsent messages of
// a GET stream go to another GET stream. A stream that is done is kept so that its client
// can resume it.
func (s *session) detach(sw *streamWriter) {
	sw.detach()
	if st := sw.stream; s.removeGetStream(st) {
		s.keepDetached(st)
	}
}

// removeGetStream removes a stream without a connection from the GET streams, and pushes
// its messages again. It reports whether the stream is done.
func (s *session) removeGetStream(st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	attached, ended := st.state()
	if attached || !st.standalone {
		return !attached && ended
	}
	s.getStreams = without(s.getStreams, st)
	for _, msg := range st.takeQueued() {
		s.pushLocked(msg)
	}
	return true
}

// makeResumable adds a stream to those that can be resumed, before its client gets an
// event id.
func (s *session) makeResumable(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if s.streams == nil {
		s.streams = make(map[string]*stream)
	}
	s.streams[st.log.name] = st
}

// keepDetached keeps a stream that is done for a client that resumes it. If there are too
// many, it discards the oldest.
func (s *session) keepDetached(st *stream) {
	if st.isOrphan() {
		s.discardStream(st)
		return
	}
	if oldest := s.keepDetachedLocked(st); oldest != nil {
		s.discardStream(oldest)
	}
}

func (s *session) keepDetachedLocked(st *stream) (oldest *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.log == nil || s.streams[st.log.name] != st {
		return nil
	}
	s.detached = append(without(s.detached, st), st)
	if len(s.detached) <= maxDetached {
		return nil
	}
	oldest = s.detached[0]
	s.detached = slices.Delete(s.detached, 0, 1)
	delete(s.streams, oldest.log.name)
	return oldest
}

// removeResumable discards a stream, which cannot be resumed any more.
func (s *session) removeResumable(st *stream) {
	s.mu.Lock()
	known := st.log != nil && s.streams[st.log.name] == st
	if known {
		delete(s.streams, st.log.name)
	}
	s.mu.Unlock()
	if known {
		s.discardStream(st)
	}
}

// findStream returns the stream of an event id and the number of the event, or nil.
func (s *session) findStream(id string) (st *stream, n int64) {
	name, n, ok := parseEventID(id)
	if !ok {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[name], n
}

func without(streams []*stream, st *stream) []*stream {
	return slices.DeleteFunc(streams, func(other *stream) bool { return other == st })
}
