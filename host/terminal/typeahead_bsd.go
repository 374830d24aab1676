//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

const input = 1 // FREAD

func dropTypeahead(terminal int) { _ = unix.IoctlSetPointerInt(terminal, unix.TIOCFLUSH, input) }
