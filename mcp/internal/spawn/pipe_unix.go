//go:build unix

package spawn

import (
	"io"
	"os"
	"syscall"
)

// readBuffered reads what is in a pipe after its deadline has passed, and returns
// io.EOF when it is empty. A read of the os.File would fail without reading, so
// that a slow reader would miss output that the child wrote in time.
func readBuffered(pipe *os.File, b []byte) (int, error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	n := 0
	if err := raw.Control(func(fd uintptr) { n, _ = syscall.Read(int(fd), b) }); err != nil {
		return 0, err
	}
	if n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}
