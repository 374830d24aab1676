//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// ignoreBackgroundReads makes a read of the terminal fail while the program runs in the
// background. By default it would stop the whole host.
func ignoreBackgroundReads() { signal.Ignore(syscall.SIGTTIN) }
