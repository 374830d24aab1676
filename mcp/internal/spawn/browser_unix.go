//go:build unix

package spawn

import (
	"runtime"
	"syscall"
)

// browserCommand returns the program that opens URLs, and the arguments before a
// URL.
func browserCommand() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/usr/bin/open"}
	}
	return []string{"xdg-open"}
}

// inOwnGroup keeps signals that the terminal sends to our process group from the
// browser.
func inOwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
