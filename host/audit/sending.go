package audit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sending is the work of what sends lines elsewhere: one goroutine that reads a queue.
type sending struct {
	dropped atomic.Int64 // lines
	failing atomic.Bool  // the last attempt to send has failed

	ctx  context.Context // ends when nothing may be sent any more
	end  context.CancelFunc
	work sync.WaitGroup
}

// drain is how long finish waits for the lines that are queued.
const drain = 2 * time.Second

// start runs the work on a goroutine of its own.
func (s *sending) start(run func()) {
	s.ctx, s.end = context.WithCancel(context.Background())
	s.work.Go(run)
}

// finish waits until what is queued is sent, unless the last attempt has failed. The queue is closed.
func (s *sending) finish() {
	if s.failing.Load() {
		s.end()
	}
	timer := time.AfterFunc(drain, s.end)
	defer timer.Stop()
	s.work.Wait()
	s.end()
}
