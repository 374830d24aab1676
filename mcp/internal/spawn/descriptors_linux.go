package spawn

import (
	"math"
	"runtime"
	"strings"
	"syscall"
)

const descriptorDir = "/proc/self/fd"

// closeRangeOnExec does the work of closeDescriptorsOnExec in one system call. It returns false
// where the kernel does not have it (before Linux 5.11).
func closeRangeOnExec() bool {
	const sysCloseRange, closeRangeCloexec = 436, 4
	if strings.HasPrefix(runtime.GOARCH, "mips") { // system calls have other numbers
		return false
	}
	_, _, errno := syscall.RawSyscall(sysCloseRange, 3, math.MaxInt32, closeRangeCloexec)
	return errno == 0
}
