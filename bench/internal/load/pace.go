package load

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// A pace determines when calls are due: one per interval, independent of earlier calls.
// A call that is due while all connections are busy waits for one, and its latency
// counts from when it was due.
type pace struct {
	timer int // its descriptor
	every time.Duration
	due   time.Time // when the next call is
	free  []*conn   // the one that was used last is last
}

// newPace has the poll wake up whenever a call is due.
func newPace(perSecond float64, conns map[int32]*conn, poll int) (*pace, error) {
	p := &pace{every: seconds(1 / perSecond)}
	for _, c := range conns {
		p.free = append(p.free, c)
	}
	timer, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a timer: %w", errno)
	}
	p.timer = int(timer)
	every := syscall.NsecToTimespec(int64(p.every))
	when := struct{ interval, first syscall.Timespec }{every, every}
	p.due = time.Now().Add(p.every)
	if _, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, timer, 0, uintptr(unsafe.Pointer(&when)), 0, 0, 0); errno != 0 {
		return nil, fmt.Errorf("set a timer: %w", errno)
	}
	return p, syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, p.timer, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(p.timer)})
}

// clockMonotonic is CLOCK_MONOTONIC.
const clockMonotonic = 1

// clear reads the timer, because otherwise poll would report it again.
func (p *pace) clear() {
	var count [8]byte
	_, _ = syscall.Read(p.timer, count[:])
}

// next returns a connection for the next due call, and the time at which the call was due.
// It returns nil when no call is due or no connection is free.
func (p *pace) next(now time.Time) (c *conn, due time.Time) {
	if len(p.free) == 0 || now.Before(p.due) {
		return nil, due
	}
	c, p.free = p.free[0], p.free[1:]
	due, p.due = p.due, p.due.Add(p.every)
	return c, due
}

func (p *pace) close() { syscall.Close(p.timer) }
