package exchange

import (
	"context"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// QueueNotification queues a call of handle, which keeps size bytes alive among those that are
// kept for the owner of the session. It does not wait. It returns false if it has dropped this
// notification or older ones, because there is no room. Notifications that are queued when the
// session ends are dropped.
func (s *Session) QueueNotification(handle func(), size int, bytes *limit.KeptBytes) (fits bool) {
	queue := s.notifications.Load()
	if queue == nil {
		start := s.Spawn
		if start == nil {
			start = func(run func()) { go run() }
		}
		queue = NewOwnedDispatcher(func(handle func()) { handle() }, start)
		queue.CountTo(bytes, s.Owner, s.End)
		s.notifications.CompareAndSwap(nil, queue)
		queue = s.notifications.Load()
	}
	return queue.Put(handle, size)
}

// StopNotifications drops the queued notifications and all later ones. It does not wait for
// the handler that is running.
func (s *Session) StopNotifications() {
	if !s.notifications.CompareAndSwap(nil, stoppedQueue) {
		s.notifications.Load().Stop()
	}
}

// stoppedQueue is the queue of sessions that end before their first notification.
var stoppedQueue = func() *Dispatcher[func()] {
	d := NewDispatcher(func(func()) {})
	d.Stop()
	return d
}()

// closeNotifications calls StopNotifications and waits for the handler that is running.
func (s *Session) closeNotifications() {
	s.StopNotifications()
	s.notifications.Load().Close()
}

// flushNotifications returns nil once every notification that was queued before the call is
// handled or dropped, or the cause of ctx.
func (s *Session) flushNotifications(ctx context.Context) error {
	if queue := s.notifications.Load(); queue != nil {
		return queue.Flush(ctx)
	}
	return nil
}
