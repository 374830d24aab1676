package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

// Syslog sends lines to a syslog server in the form of RFC 5424. The message is the line
// as it is in the log, with its authentication code. Lines wait in a queue, so sending delays
// no call unless Options.RequireSyslog is set; lines that find the queue full are dropped and counted. All methods are safe
// for concurrent use. It is our own, because log/syslog of the standard library is not for
// Windows, has the older form of RFC 3164, and blocks.
type Syslog struct {
	network, address string
	tls              bool
	hostname         string
	lines            chan syslogMessage
	onError          func(error)

	conn            net.Conn // used by run alone, as are both below
	reportedDrops   int64
	reportedFailure bool

	sending
}

const (
	// maxSyslogQueue is the number of lines that wait to be sent.
	maxSyslogQueue = 1024
	// syslogTimeout limits each connection and each write, and how long a line is waited for.
	syslogTimeout = 5 * time.Second
	// syslogPause is the pause after a failure; it doubles up to maxSyslogPause.
	syslogPause, maxSyslogPause = time.Second, 30 * time.Second
)

// OpenSyslog starts to send to a server: unix:///dev/log, udp://HOST:PORT, tcp://HOST:PORT, or
// tls://HOST:PORT. Messages over TCP and TLS have the length in front (RFC 6587 3.4.1, RFC
// 5425). Nothing is connected yet. onError is called for the first failure after a
// success; it may be nil.
func OpenSyslog(address string, onError func(error)) (*Syslog, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("syslog: %w", err)
	}
	s := &Syslog{network: u.Scheme, address: u.Host, lines: make(chan syslogMessage, maxSyslogQueue), onError: onError}
	switch {
	case u.Scheme == "unix" && u.Host == "" && u.Path != "":
		s.network, s.address = "unixgram", u.Path
	case u.Scheme == "tls" && u.Port() != "":
		s.network, s.tls = "tcp", true
	case (u.Scheme == "udp" || u.Scheme == "tcp") && u.Port() != "":
	default:
		return nil, fmt.Errorf("syslog: found %q, want unix:///dev/log, udp://HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT", address)
	}
	s.hostname, _ = os.Hostname()
	s.start(s.run)
	return s, nil
}

// Dropped returns how many lines were dropped.
func (s *Syslog) Dropped() int64 { return s.dropped.Load() }

// ready reports whether a line would probably be sent now.
func (s *Syslog) ready() bool { return s != nil && len(s.lines) < cap(s.lines) && !s.failing.Load() }

// facility is "log audit". Spec: RFC 5424 6.2.1
const facility = 13

// severity returns the severity of a record: notice for what was not done, else
// informational.
func severity(r *Record) int {
	switch r.Outcome {
	case host.OutcomeDone, host.OutcomeBegun:
		return 6
	}
	return 5
}

// message returns a message. Spec: RFC 5424 6
func (s *Syslog) message(level int, at time.Time, id string, text []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<%d>1 %s %s fondaco %d %s - \xef\xbb\xbf", facility*8+level, at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano), headerField(s.hostname, 255), os.Getpid(), headerField(id, 32))
	b.Write(bytes.TrimSuffix(text, []byte{'\n'}))
	return b.Bytes()
}

// headerField returns a text as a field of the header: printable ASCII without spaces.
func headerField(s string, limit int) string {
	s = strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' {
			return '-'
		}
		return c
	}, s)
	return cmp.Or(s[:min(len(s), limit)], "-")
}

// syslogMessage is a message in the queue.
type syslogMessage struct {
	text []byte
	sent chan error // gets the result of the first attempt to send it
}

// send queues a record. The channel that it returns gets an error, or nil when the message was
// written to the socket.
func (s *Syslog) send(r *Record, line []byte) <-chan error {
	m := syslogMessage{s.message(severity(r), r.Time, string(r.Action), line), make(chan error, 1)}
	select {
	case s.lines <- m:
	default:
		s.dropped.Add(1)
		m.sent <- errors.New("the queue is full")
	}
	return m.sent
}

// await waits until a message that send has queued was written to the socket, for 5 seconds at
// most.
func (s *Syslog) await(sent <-chan error) error {
	timer := time.NewTimer(syslogTimeout)
	defer timer.Stop()
	select {
	case err := <-sent:
		return err
	case <-timer.C:
		return fmt.Errorf("the server has not taken the line in %v", syslogTimeout)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// run sends what is queued until the end.
func (s *Syslog) run() {
	defer s.disconnect()
	for m := range s.lines {
		if !s.deliver(m) {
			return
		}
	}
}

// deliver sends a message, again if that fails. It reports false at the end.
func (s *Syslog) deliver(m syslogMessage) bool {
	for pause := syslogPause; ; pause = min(2*pause, maxSyslogPause) {
		reused := s.conn != nil
		err := s.attempt(m.text)
		if err != nil && reused {
			err = s.attempt(m.text) // the server may have closed the connection meanwhile
		}
		if s.failing.Store(err != nil); err == nil {
			m.report(nil)
			return true
		}
		if m.report(err); !s.reportedFailure && s.onError != nil {
			s.onError(fmt.Errorf("syslog: %w", err))
		}
		s.reportedFailure = true
		select {
		case <-s.ctx.Done():
			s.dropped.Add(1 + int64(len(s.lines)))
			return false
		case <-time.After(pause):
		}
	}
}

// report says how the first attempt has ended, to whoever waits for it.
func (m *syslogMessage) report(err error) {
	select {
	case m.sent <- err:
	default:
	}
}

// attempt sends a message once, and before it how many were dropped.
func (s *Syslog) attempt(text []byte) (err error) {
	if s.conn == nil {
		s.conn, err = s.connect()
	}
	if n := s.dropped.Load(); err == nil && n > s.reportedDrops {
		err = s.write(s.conn, s.message(4, time.Now(), "dropped", fmt.Appendf(nil, `{"dropped":%d}`, n-s.reportedDrops)))
		if err == nil {
			s.reportedDrops = n
		}
	}
	if err == nil {
		err = s.write(s.conn, text)
	}
	if err != nil {
		s.disconnect()
		return err
	}
	s.reportedFailure = false
	return nil
}

func (s *Syslog) disconnect() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

func (s *Syslog) connect() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, syslogTimeout)
	defer cancel()
	d := &net.Dialer{}
	if s.tls {
		return (&tls.Dialer{NetDialer: d, Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(ctx, s.network, s.address)
	}
	return d.DialContext(ctx, s.network, s.address)
}

func (s *Syslog) write(conn net.Conn, message []byte) error {
	if s.network == "tcp" {
		message = append(strconv.AppendInt(nil, int64(len(message)), 10), append([]byte{' '}, message...)...)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(syslogTimeout))
	_, err := conn.Write(message)
	return err
}

// Close sends what is queued, for two seconds at most, unless the last attempt has failed.
// Nothing may be sent any more.
func (s *Syslog) Close() {
	close(s.lines)
	s.finish()
}
