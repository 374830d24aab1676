package streamhttp

import (
	"slices"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
)

// push sends a message that belongs to no request, on one stream: the newest
// that can take it. A stream that is too far behind ends behind what it holds.
//
// Spec: 2025-11-25 basic/transports#multiple-connections
func (s *session) push(msg []byte) error {
	room, err := s.tryPush(msg)
	if !room {
		s.lost()
	}
	return err
}

// tryPush is push, and reports whether there was room for all messages.
func (s *session) tryPush(msg []byte) (room bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return true, errSessionEnded
	}
	return s.pushLocked(msg), nil
}

func (s *session) pushLocked(msg []byte) (room bool) {
	room = true
	for len(s.gets) > 0 {
		last := len(s.gets) - 1
		if s.gets[last].offer(msg) {
			return room
		}
		room = false
		s.gets[last].end(dialect.Reply{})
		s.gets = s.gets[:last]
	}
	for !s.pending.fits(msg, maxPending) {
		s.pending.pop(1, 0) // the oldest
		room = false
	}
	s.pending.push(msg)
	return room
}

// listen attaches a connection to a new stream for the messages that belong to
// no request, with those that wait for one. It needs one leave.
func (s *session) listen(ctx *lazyctx.Context, st *stream) *attachment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.join(st)
	return st.attach(ctx)
}

// rejoin makes a resumed stream one that messages leave on again, if it belongs
// to no request.
func (s *session) rejoin(st *stream) {
	if !st.resident {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked = without(s.parked, st)
	if !slices.Contains(s.gets, st) {
		st.revive()
		s.join(st)
	}
}

// join needs the lock.
func (s *session) join(st *stream) {
	if s.over {
		st.end(dialect.Reply{})
		return
	}
	for len(s.pending.msgs) > 0 && st.offer(s.pending.msgs[0]) {
		s.pending.pop(1, 0)
	}
	if len(s.gets) >= maxGetStreams {
		s.gets[0].end(dialect.Reply{})
		s.gets = slices.Delete(s.gets, 0, 1)
	}
	s.gets = append(s.gets, st)
}

// leave detaches a connection. Unless another has taken over, a stream that
// belongs to no request passes on what it had not sent; one that is done waits
// for its client.
func (s *session) leave(at *attachment) {
	at.detach()
	if st := at.stream; s.pass(st) {
		s.park(st)
	}
}

// pass takes a stream without connection from those that messages leave on. It
// reports false when the stream is not done.
func (s *session) pass(st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	attached, ended := st.state()
	if attached || !st.resident {
		return !attached && ended
	}
	s.gets = without(s.gets, st)
	for _, msg := range st.rest() {
		s.pushLocked(msg)
	}
	return true
}

// keep makes a stream one that can be resumed: its client is about to know an id.
func (s *session) keep(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if s.streams == nil {
		s.streams = make(map[string]*stream)
	}
	s.streams[st.log.name] = st
}

// park keeps a stream that is done for a client that comes back. The one that
// was parked first makes room.
func (s *session) park(st *stream) {
	if oldest := s.parkLocked(st); oldest != nil {
		oldest.forget()
	}
}

func (s *session) parkLocked(st *stream) (oldest *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.log == nil || s.streams[st.log.name] != st {
		return nil
	}
	s.parked = append(without(s.parked, st), st)
	if len(s.parked) <= maxParked {
		return nil
	}
	oldest = s.parked[0]
	s.parked = slices.Delete(s.parked, 0, 1)
	delete(s.streams, oldest.log.name)
	return oldest
}

// drop makes a stream one that cannot be resumed.
func (s *session) drop(st *stream) {
	s.mu.Lock()
	known := st.log != nil && s.streams[st.log.name] == st
	if known {
		delete(s.streams, st.log.name)
	}
	s.mu.Unlock()
	if known {
		st.forget()
	}
}

// find returns the stream that an event id leads to, and the number in it.
func (s *session) find(id string) (st *stream, n int64) {
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
