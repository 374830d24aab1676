//go:build unix && !linux

package spawn

import (
	"os/exec"
	"syscall"
	"time"
)

// dieWithParent does nothing outside Linux: a child gets no signal when its parent dies, but
// reads the end of its standard input.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit returns false, because these systems cannot wait without reaping. Between the
// reaping of the leader and the signal to its group, the id of an empty group could be reused,
// if all other process ids were used up in that moment.
func awaitExit(int) bool { return false }

// detachedProcesses stands for the descendants that left the process group, which are not
// found here.
type detachedProcesses struct{}

func (*detachedProcesses) mark(*exec.Cmd) {}

func (*detachedProcesses) note(int) {}

func (*tree) killRest(time.Time) {}
