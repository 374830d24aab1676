package exchange

import "context"

// QueueNotification queues the handling of a notification, which keeps size bytes alive. It
// does not wait. It reports false when older notifications were dropped to make room.
// What is queued when the session ends is dropped.
func (s *Session) QueueNotification(handle func(), size int) (fits bool) {
	queue := s.notifications.Load()
	if queue == nil {
		start := s.Spawn
		if start == nil {
			start = func(run func()) { go run() }
		}
		s.notifications.CompareAndSwap(nil, NewOwnedDispatcher(func(handle func()) { handle() }, start))
		queue = s.notifications.Load()
	}
	return queue.Put(handle, size)
}

// StopNotifications drops what is queued, and queues nothing more. It does not wait for the
// handler that runs.
func (s *Session) StopNotifications() {
	if !s.notifications.CompareAndSwap(nil, stoppedQueue) {
		s.notifications.Load().Stop()
	}
}

// stoppedQueue is the queue of the sessions that have ended without one.
var stoppedQueue = func() *Dispatcher[func()] {
	d := NewDispatcher(func(func()) {})
	d.Stop()
	return d
}()

// closeNotifications is StopNotes, and returns when the handler that runs has returned.
func (s *Session) closeNotifications() {
	s.StopNotifications()
	s.notifications.Load().Close()
}

// flushNotifications returns nil once every notification that was put before has been handled
// or dropped, or the cause of ctx.
func (s *Session) flushNotifications(ctx context.Context) error {
	if queue := s.notifications.Load(); queue != nil {
		return queue.Flush(ctx)
	}
	return nil
}
