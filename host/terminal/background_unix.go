//go:build unix

package terminal

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// IgnoreBackgroundReads makes a read of the terminal fail while the program runs in the
// background. By default it would stop the whole host.
func IgnoreBackgroundReads() { signal.Ignore(syscall.SIGTTIN) }

// inBackground reports whether another program reads the terminal now.
func inBackground(terminal int) bool {
	reads, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	own, errOwn := unix.Getpgid(0)
	return err == nil && errOwn == nil && reads != own
}
