package stdio

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// Standard is the Conn of a server with the client that started it. It has the
// standard streams of the process to itself until Close.
type Standard struct {
	*Conn
	end func() error
}

// taken is set while a Standard has the streams.
var taken atomic.Bool

// TakeOver makes the standard input and output of this process a Conn, and
// keeps everybody else away from them until Close restores them. Call it before
// any code runs that might print, and once at a time.
//
// On Unix the two descriptors are exchanged: whatever writes to standard output
// (fmt.Println, C code, a child that inherits descriptor 1) reaches standard
// error, and whatever reads standard input finds it empty. Elsewhere os.Stdin
// and os.Stdout are exchanged, which covers Go code, and children that are given
// these variables, but neither C code nor a copy of the variables made before.
//
// A pipe or socket is set to non-blocking while it is taken, unless standard
// error is the same one. Where the system cannot interrupt a read (terminals and
// files, and everything outside Unix), Read does return when it is cancelled or
// closed, but a goroutine stays until the next input or the end of the process.
//
// Spec: 2026-07-28 basic/transports#stdio (nothing but messages on stdout)
func TakeOver(opts *Options) (*Standard, error) {
	if !taken.CompareAndSwap(false, true) {
		return nil, errors.New("take over standard streams: another connection has them")
	}
	s, err := seize()
	if err != nil {
		taken.Store(false)
		return nil, fmt.Errorf("take over standard streams: %w", err)
	}
	conn := New(s.in, s.out, nil, opts)
	return &Standard{Conn: conn, end: sync.OnceValue(func() error {
		defer taken.Store(false)
		return errors.Join(conn.Close(), s.restore())
	})}, nil
}

// Close implements mcp.Conn and restores the standard streams.
func (s *Standard) Close() error { return s.end() }

// streams are the real standard streams and the way to put them back.
type streams struct {
	in, out *os.File
	restore func() error
}
