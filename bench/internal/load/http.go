package load

import (
	"cmp"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A loop drives all connections from one thread. It costs one write, one read and
// a share of one wait per call.
//
//	run → wait → ready → receive → send
//	       └─ sendDue, where calls have a pace
type loop struct {
	*meter
	call     *call
	host     string
	poll     int
	conns    map[int32]*conn
	sessions []string
	id       uint64 // of the last call
	pace     *pace  // nil: each answer starts the next call
}

func overHTTP(p Params) (Outcome, error) {
	runtime.LockOSThread()
	l, err := newLoop(p)
	if err != nil {
		return Outcome{}, err
	}
	defer l.close()
	if err := l.connect(p); err != nil {
		return Outcome{}, err
	}
	if err := l.run(p); err != nil {
		return Outcome{}, err
	}
	return l.outcome(), nil
}

func newLoop(p Params) (*loop, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &loop{call: newCall(p), host: u.Host, poll: poll, conns: make(map[int32]*conn), id: firstID}, nil
}

func (l *loop) close() {
	for _, c := range l.conns {
		c.close()
	}
	if l.pace != nil {
		l.pace.close()
	}
	syscall.Close(l.poll)
}

// connect opens the sessions and the connections.
func (l *loop) connect(p Params) error {
	if p.Era == "25" {
		sessions, err := openSessions(l.host, cmp.Or(p.Sessions, p.Callers))
		if err != nil {
			return err
		}
		l.sessions = sessions
	}
	for i := range p.Callers {
		c, err := dial(l.host)
		if err != nil {
			return err
		}
		l.conns[int32(c.fd)] = c
		if err := l.prepare(c, p, i); err != nil {
			return err
		}
	}
	return nil
}

// prepare writes the request of a connection. Where there are more sessions than
// connections each call takes the next one.
func (l *loop) prepare(c *conn, p Params, i int) error {
	session := ""
	if p.Era == "25" {
		session = l.sessions[i%len(l.sessions)]
	}
	request := post(l.host, p.Era, l.call.method, l.call.tool, session, string(l.call.body))
	head := len(request) - len(l.call.body)
	for _, at := range l.call.ids {
		c.ids = append(c.ids, head+at)
	}
	if len(l.sessions) > p.Callers {
		c.session = strings.Index(request, session)
	}
	c.request = []byte(request)
	syscall.SetNonblock(c.fd, true)
	return syscall.EpollCtl(l.poll, syscall.EPOLL_CTL_ADD, c.fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.fd)})
}

func (l *loop) run(p Params) error {
	l.meter = newMeter(p, p.PID)
	if err := l.begin(p.Rate); err != nil {
		return err
	}
	events := make([]syscall.EpollEvent, 512)
	for !l.over() {
		n, err := syscall.EpollWait(l.poll, events, 100)
		if err != nil && err != syscall.EINTR {
			return err
		}
		for _, e := range events[:max(0, n)] {
			if err := l.event(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin sends the first calls.
func (l *loop) begin(rate float64) (err error) {
	if rate > 0 {
		l.pace, err = newPace(rate, l.conns, l.poll)
		return err
	}
	for _, c := range l.conns {
		if err := l.send(c, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) event(e syscall.EpollEvent) error {
	if c := l.conns[e.Fd]; c != nil {
		return l.ready(c, e.Events)
	}
	l.pace.clear()
	return l.sendDue()
}

// sendDue sends the calls that are due while there are free connections.
func (l *loop) sendDue() error {
	for {
		c, due := l.pace.next(time.Now())
		if c == nil {
			return nil
		}
		if err := l.send(c, due); err != nil {
			return err
		}
	}
}

// send sends the next call, whose latency counts from the given time.
func (l *loop) send(c *conn, from time.Time) error {
	l.id++
	c.id = l.id
	for _, at := range c.ids {
		putID(c.request[at:], c.id)
	}
	if c.session > 0 {
		copy(c.request[c.session:], l.sessions[c.id%uint64(len(l.sessions))])
	}
	c.reset()
	c.unsent = c.request
	c.sent = from
	return l.flush(c)
}

// flush writes the request. It polls for writability only while bytes are left.
func (l *loop) flush(c *conn) error {
	all, err := c.write()
	if err != nil || all != c.waiting {
		return err
	}
	c.waiting = !all
	events := uint32(syscall.EPOLLIN)
	if c.waiting {
		events |= syscall.EPOLLOUT
	}
	return syscall.EpollCtl(l.poll, syscall.EPOLL_CTL_MOD, c.fd, &syscall.EpollEvent{Events: events, Fd: int32(c.fd)})
}

func (l *loop) ready(c *conn, events uint32) error {
	if events&syscall.EPOLLOUT != 0 {
		if err := l.flush(c); err != nil {
			return err
		}
	}
	if events&^syscall.EPOLLOUT == 0 {
		return nil
	}
	err := c.read()
	if err == syscall.EAGAIN {
		return nil
	}
	if err != nil {
		return err
	}
	body, ok, err := c.complete()
	if err != nil || !ok {
		return err
	}
	return l.receive(c, body)
}

func (l *loop) receive(c *conn, body []byte) error {
	sent := c.sent
	if c.status == 200 && l.call.answers(c.message(body), c.id) {
		l.answered(sent)
	} else {
		l.answeredWrong(c.buf[:c.n])
	}
	if c.closing {
		return fmt.Errorf("the server closes a connection: %.200q", c.buf[:c.n])
	}
	if l.pace != nil {
		l.pace.free = append(l.pace.free, c)
		return l.sendDue()
	}
	return l.send(c, time.Now())
}
