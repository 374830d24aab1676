package exchange

import "context"

// PutNote queues the handling of a notification, which keeps size bytes alive. It
// does not wait. It reports false when older notifications were dropped to make room.
// What is queued when the session ends is dropped.
func (s *Session) PutNote(handle func(), size int) (fits bool) {
	queue := s.notes.Load()
	if queue == nil {
		start := s.Spawn
		if start == nil {
			start = func(run func()) { go run() }
		}
		s.notes.CompareAndSwap(nil, NewOwnedDispatcher(func(handle func()) { handle() }, start))
		queue = s.notes.Load()
	}
	return queue.Put(handle, size)
}

// StopNotes drops what is queued, and queues nothing more. It does not wait for the
// handler that runs.
func (s *Session) StopNotes() {
	if !s.notes.CompareAndSwap(nil, stoppedNotes) {
		s.notes.Load().Stop()
	}
}

// stoppedNotes is the queue of the sessions that have ended without one.
var stoppedNotes = func() *Dispatcher[func()] {
	d := NewDispatcher(func(func()) {})
	d.Stop()
	return d
}()

// closeNotes is StopNotes, and returns when the handler that runs has returned.
func (s *Session) closeNotes() {
	s.StopNotes()
	s.notes.Load().Close()
}

// flushNotes returns nil once every notification that was put before has been handled
// or dropped, or the cause of ctx.
func (s *Session) flushNotes(ctx context.Context) error {
	if queue := s.notes.Load(); queue != nil {
		return queue.Flush(ctx)
	}
	return nil
}
