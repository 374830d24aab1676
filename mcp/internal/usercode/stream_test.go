package usercode

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

type still struct{}

func (still) Read(p []byte) (int, error)       { return len(p), nil }
func (still) Write(p []byte) (int, error)      { return len(p), nil }
func (still) Close() error                     { return nil }
func (still) SetReadDeadline(time.Time) error  { return nil }
func (still) SetWriteDeadline(time.Time) error { return nil }

func TestStreamCostsNoAllocation(t *testing.T) {
	s, buffer := Stream(still{}, quiet), make([]byte, 16)
	d := s.(interface{ SetReadDeadline(time.Time) error })
	if got := testing.AllocsPerRun(100, func() {
		_, _ = s.Read(buffer)
		_, _ = s.Write(buffer)
		_ = d.SetReadDeadline(time.Time{})
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func TestStreamHasTheDeadlinesOfWhatItWraps(t *testing.T) {
	for _, tt := range []struct {
		stream io.ReadWriteCloser
		err    error
	}{
		{still{}, nil},
		{struct{ io.ReadWriteCloser }{still{}}, os.ErrNoDeadline},
	} {
		s := Stream(tt.stream, quiet).(interface {
			SetReadDeadline(time.Time) error
			SetWriteDeadline(time.Time) error
		})
		if read, write := s.SetReadDeadline(time.Time{}), s.SetWriteDeadline(time.Time{}); read != tt.err || write != tt.err {
			t.Errorf("%T: got %v and %v, want %v", tt.stream, read, write, tt.err)
		}
	}
}

func TestConnectionsOfTheStandardLibraryAreNotWrapped(t *testing.T) {
	for _, c := range []net.Conn{new(net.TCPConn), new(net.UnixConn), new(tls.Conn)} {
		if got := Conn(c, quiet); got != c {
			t.Errorf("%T: got a %T, want it as it is", c, got)
		}
	}
	for _, l := range []net.Listener{new(net.TCPListener), new(net.UnixListener)} {
		if got := Listener(l, quiet); got != l {
			t.Errorf("%T: got a %T, want it as it is", l, got)
		}
	}
	if f := new(os.File); Stream(f, quiet) != io.ReadWriteCloser(f) {
		t.Error("want a file as it is")
	}
}

// A write that stops early without an error is one of a broken stream.
func TestShortWriteIsAnError(t *testing.T) {
	s := Stream(short{}, quiet)
	if n, err := s.Write([]byte("four")); n != 3 || err != io.ErrShortWrite {
		t.Errorf("got %d, %v, want 3 and %v", n, err, io.ErrShortWrite)
	}
}

type short struct{ still }

func (short) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestListenerReportsAMissingConnection(t *testing.T) {
	if c, err := Listener(empty{}, quiet).Accept(); c != nil || err == nil {
		t.Errorf("got %v, %v, want an error", c, err)
	}
}

type empty struct{ net.Listener }

func (empty) Accept() (net.Conn, error) { return nil, nil }
