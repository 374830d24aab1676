//go:build unix

package terminal

import (
	"os/signal"
	"syscall"
)

// IgnoreBackgroundReads makes a read of the terminal fail while the program runs in the
// background. By default it would stop the whole host.
func IgnoreBackgroundReads() { signal.Ignore(syscall.SIGTTIN) }
