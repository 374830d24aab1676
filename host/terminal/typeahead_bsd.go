//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

const input = 1 // FREAD

func dropTypeahead(terminal int) { _ = unix.IoctlSetPointerInt(terminal, unix.TIOCFLUSH, input) }

// inBackground reports whether another program reads the terminal now.
func inBackground(terminal int) bool {
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}
