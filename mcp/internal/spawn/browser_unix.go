//go:build unix

package spawn

import (
	"runtime"
	"syscall"
)

// opener is the program that opens addresses, and its arguments before one.
func opener() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/usr/bin/open"}
	}
	return []string{"xdg-open"}
}

// apart keeps the browser out of what the terminal sends to our group.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
