//go:build !unix && !windows

package spawn

import "syscall"

// browserCommand returns nil: on this platform no program is known that opens URLs.
func browserCommand() []string { return nil }

func inOwnGroup() *syscall.SysProcAttr { return nil }
