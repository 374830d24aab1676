//go:build unix

package spawn

import (
	"os"
	"strconv"
	"syscall"
)

// closeDescriptorsOnExec marks all descriptors above standard error of this process so that no
// child gets them. The Go runtime opens all of its own in this way, but this process may have
// inherited others from its parent, and C code may open some.
func closeDescriptorsOnExec() {
	if !closeRangeOnExec() {
		closeListedOnExec()
	}
}

// closeListedOnExec does the work of closeDescriptorsOnExec for each descriptor that the system
// lists.
func closeListedOnExec() {
	list, err := os.Open(descriptorDir)
	if err != nil {
		return
	}
	defer list.Close()
	names, _ := list.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
