//go:build unix

package audit

import "syscall"

// nonblocking is the flag with which a pipe is opened at once.
const nonblocking = syscall.O_NONBLOCK
