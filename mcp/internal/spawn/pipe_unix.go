//go:build unix

package spawn

import (
	"io"
	"os"
	"syscall"
)

// leftIn reads what a pipe holds whose deadline has passed, and io.EOF when it is
// empty. A read of the os.File fails then without looking, so that a reader who
// comes late by no fault of the child's would miss what it has said.
func leftIn(pipe *os.File, b []byte) (int, error) {
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
