package terminal

import "golang.org/x/sys/unix"

func dropTypeahead(terminal int) { _ = unix.IoctlSetInt(terminal, unix.TCFLSH, unix.TCIFLUSH) }

// inBackground reports whether another program reads the terminal now.
func inBackground(terminal int) bool {
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}
