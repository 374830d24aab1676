package load

import (
	"bytes"
	"fmt"
	"syscall"
	"time"
)

// A Crowd is a number of idle clients of one server.
type Crowd struct {
	host  string
	poll  int
	conns map[int32]*conn
}

// OpenSessions opens n sessions of era 25 that have no stream.
func OpenSessions(host string, n int) error {
	_, err := openSessions(host, n)
	return err
}

// OpenCrowd opens n streams that receive updates of the item. In era 25 each has its
// own session.
func OpenCrowd(host, era string, n int) (*Crowd, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	c := &Crowd{host: host, poll: poll, conns: make(map[int32]*conn)}
	for i := range n {
		if err := c.join(era); err != nil {
			c.Close()
			return nil, fmt.Errorf("open stream %d: %w", i, err)
		}
	}
	return c, nil
}

func (c *Crowd) join(era string) error {
	s, err := dial(c.host)
	if err != nil {
		return err
	}
	c.conns[int32(s.fd)] = s
	if era == "26" {
		err = s.listen(c.host)
	} else {
		err = c.joinSession(s)
	}
	if err != nil {
		return err
	}
	syscall.SetNonblock(s.fd, true)
	return syscall.EpollCtl(c.poll, syscall.EPOLL_CTL_ADD, s.fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(s.fd)})
}

func (c *Crowd) joinSession(s *conn) error {
	other, err := dial(c.host)
	if err != nil {
		return err
	}
	defer other.close()
	session, err := other.openSession(c.host)
	if err != nil {
		return err
	}
	if err := s.openStream(c.host, session); err != nil {
		return err
	}
	return other.subscribe(c.host, session)
}

// Close ends all streams.
func (c *Crowd) Close() {
	for _, s := range c.conns {
		s.close()
	}
	syscall.Close(c.poll)
}

// Await waits until every stream has received one update, at most until the
// deadline, and returns the number of streams that have.
func (c *Crowd) Await(deadline time.Time) (heard int) {
	seen := make(map[int32]bool, len(c.conns))
	events := make([]syscall.EpollEvent, 1024)
	buf := make([]byte, 64<<10)
	for len(seen) < len(c.conns) && time.Now().Before(deadline) {
		n, _ := syscall.EpollWait(c.poll, events, 100)
		for _, e := range events[:max(0, n)] {
			n, _ := syscall.Read(int(e.Fd), buf)
			if n > 0 && bytes.Contains(buf[:n], []byte(`"notifications/`)) {
				seen[e.Fd] = true
			}
			if n == 0 { // the server has closed it
				syscall.EpollCtl(c.poll, syscall.EPOLL_CTL_DEL, int(e.Fd), nil)
			}
		}
	}
	return len(seen)
}
