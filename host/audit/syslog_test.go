package audit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
)

// receiver receives syslog messages.
type receiver struct {
	url      string
	messages chan string
}

func receive(t *testing.T, network string) receiver {
	t.Helper()
	r := receiver{messages: make(chan string, 10_000)}
	if network == "tcp" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		r.url = "tcp://" + l.Addr().String()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go r.readFrames(c)
			}
		}()
		return r
	}
	address := "127.0.0.1:0"
	if network == "unixgram" {
		address = filepath.Join(t.TempDir(), "log")
	}
	c, err := net.ListenPacket(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r.url = network + "://" + c.LocalAddr().String()
	if network == "unixgram" {
		r.url = "unix://" + address
	}
	go func() {
		buffer := make([]byte, 65536)
		for {
			n, _, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			r.messages <- string(buffer[:n])
		}
	}()
	return r
}

// readFrames reads messages with their length in front.
func (r receiver) readFrames(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		length, err := in.ReadString(' ')
		n, _ := strconv.Atoi(strings.TrimSpace(length))
		if err != nil || n == 0 {
			return
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(in, text); err != nil {
			return
		}
		r.messages <- string(text)
	}
}

func (r receiver) next(t *testing.T) string {
	t.Helper()
	select {
	case m := <-r.messages:
		return m
	case <-time.After(5 * time.Minute):
		t.Fatal("no message")
		return ""
	}
}

func TestSyslogGetsEachLine(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"udp", "tcp", "unixgram"} {
		if network == "unixgram" && runtime.GOOS == "windows" {
			continue
		}
		r := receive(t, network)
		sink, err := audit.OpenSyslog(r.url, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		l, path := open(t, &audit.Options{Syslog: sink, RequireSyslog: true})
		for i, outcome := range []host.Outcome{host.OutcomeBegun, host.OutcomeDone, host.OutcomeDenied} {
			d := host.Decision{Time: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Upstream: "u", Action: host.ActionCall, Name: fmt.Sprint("tööl", i), Outcome: outcome}
			if err := l.Write(d); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Split(strings.TrimSpace(read(t, path)), "\n")
		for i, level := range []int{110, 110, 109} {
			want := regexp.MustCompile(fmt.Sprintf(`^<%d>1 2026-01-02T03:04:05\.000006Z \S+ fondaco \d+ call - %s%s$`, level, "\ufeff", regexp.QuoteMeta(lines[i])))
			if got := r.next(t); !want.MatchString(got) {
				t.Errorf("%s: got %q, want %s", network, got, want)
			}
		}
		sink.Close()
		if n := sink.Dropped(); n != 0 {
			t.Errorf("%s: got %d dropped", network, n)
		}
	}
}

func TestSyslogThatCannotBeReachedDelaysNoCall(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	sink, err := audit.OpenSyslog("tcp://"+closed.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l, path := open(t, &audit.Options{Syslog: sink, RequireSyslog: true, MaxFile: 1 << 30})
	refused := 0
	d := host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionCall, Outcome: host.OutcomeBegun}
	written := 0
	for sink.Dropped() < 10 && ctx.Err() == nil {
		if err := l.Write(d); err != nil {
			refused++
			done := d
			done.Outcome = host.OutcomeDone
			if err := l.Write(done); err != nil {
				t.Fatal(err)
			}
		}
		written++
	}
	if sink.Dropped() < 10 || refused == 0 {
		t.Errorf("got %d dropped and %d refused of %d, want calls refused when the queue is full, and outcomes written", sink.Dropped(), refused, written)
	}
	if r := verify(t, path); !r.OK() {
		t.Errorf("got %+v", r.Problems)
	}
	sink.Close()
	if sink.Dropped() < 100 {
		t.Errorf("got %d dropped, want those too that waited at the end", sink.Dropped())
	}
}

func begin(l *audit.Log) error {
	return l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionCall, Outcome: host.OutcomeBegun})
}

// The first line of a process finds an empty queue.
func TestFirstCallIsRefusedIfARequiredSyslogDoesNotTakeItsLine(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	accepting, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer accepting.Close()
	go func() {
		for {
			c, err := accepting.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	for what, address := range map[string]string{
		"nothing listens":            "tcp://" + closed.Addr().String(),
		"the server does not do TLS": "tls://" + accepting.Addr().String(),
		"there is no socket":         "unix://" + filepath.Join(t.TempDir(), "log"),
	} {
		sink, err := audit.OpenSyslog(address, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, _ := open(t, &audit.Options{Syslog: sink, RequireSyslog: true})
		if err := begin(l); err == nil || !strings.Contains(err.Error(), "syslog: ") {
			t.Errorf("%s: got %v, want the call refused", what, err)
		}
		if err := begin(l); err == nil {
			t.Errorf("%s: got no error for the next call", what)
		}
		sink.Close()
	}
}

func TestRequiredSyslogThatTakesNothingRefusesACallAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := audit.AwaitSyslog(make(chan error)); err == nil || time.Since(start) != 5*time.Second {
			t.Errorf("got %v after %v, want an error after 5s", err, time.Since(start))
		}
	})
}

func TestRestartedSyslogRefusesNoCall(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sink, err := audit.OpenSyslog("tcp://"+listener.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	l, _ := open(t, &audit.Options{Syslog: sink, RequireSyslog: true})
	for range 3 {
		if err := begin(l); err != nil {
			t.Fatal(err)
		}
		c, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.(*net.TCPConn).SetLinger(0), c.Close()); err != nil { // the next write to it fails
			t.Fatal(err)
		}
	}
}

func TestSyslogReportsWhatItDropped(t *testing.T) {
	t.Parallel()
	// Nothing listens at first.
	place, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := place.Addr().String()
	_ = place.Close()
	failed := make(chan error, 10)
	sink, err := audit.OpenSyslog("tcp://"+address, func(err error) { failed <- err })
	if err != nil {
		t.Fatal(err)
	}
	l, _ := open(t, &audit.Options{Syslog: sink})
	for range 1100 {
		if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionCall, Outcome: host.OutcomeDone}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-failed; !strings.Contains(err.Error(), "syslog: ") {
		t.Errorf("got %v", err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	defer again.Close()
	c, err := again.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r := receiver{messages: make(chan string, 2000)}
	go r.readFrames(c)
	if first := r.next(t); !strings.Contains(first, `dropped - `) || !strings.Contains(first, `{"dropped":`) {
		t.Errorf("got %q, want how many were dropped before what was kept", first)
	}
	sink.Close()
}

func TestSyslogAddressIsChecked(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "log:514", "http://log:514", "udp://log", "unix://log", "unix:", "tls://x", "%"} {
		if s, err := audit.OpenSyslog(address, nil); err == nil {
			t.Errorf("%q: got no error", address)
			s.Close()
		}
	}
}
