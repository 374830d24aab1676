//go:build unix || windows

package files

import "syscall"

// openNonblock prevents that opening a named pipe waits for its writer.
const openNonblock = syscall.O_NONBLOCK
