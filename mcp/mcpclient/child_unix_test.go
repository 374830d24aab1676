//go:build unix

package mcpclient_test

import (
	"errors"
	"syscall"
)

func running(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
