package stdio

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// Standard is the Conn of a server to the client that started it. Only it can
// use the standard streams of the process until Close.
type Standard struct {
	*Conn
	end func() error
}

// taken is true while a Standard uses the streams.
var taken atomic.Bool

// TakeOver returns a Conn over the standard input and output of this process,
// and prevents other code from using them until Close restores them. Call it
// before any code that might print. A second call before Close is an error.
//
// On Unix it redirects the two descriptors: what other code writes to standard
// output (fmt.Println, C code, a child that inherits descriptor 1) goes to
// standard error, and reads from standard input return end of file. On other
// systems it replaces os.Stdin and os.Stdout, which affects Go code and
// children that get these variables, but neither C code nor copies of the
// variables made before.
//
// A pipe or socket is set to non-blocking mode until Close, unless it is also
// standard error. If the system cannot interrupt a read (terminals and files,
// and all streams outside Unix), Read still returns when it is cancelled or
// closed, but a goroutine remains until the next input or the end of the
// process.
//
// Spec: 2026-07-28 basic/transports#stdio (nothing but messages on stdout)
func TakeOver(opts *Options) (*Standard, error) {
	if !taken.CompareAndSwap(false, true) {
		return nil, errors.New("take over standard streams: another connection has them")
	}
	s, err := redirect()
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

// streams are the original standard streams and the function that restores
// them.
type streams struct {
	in, out *os.File
	restore func() error
}
