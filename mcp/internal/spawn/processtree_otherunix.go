//go:build unix && !linux

package spawn

import (
	"os/exec"
	"syscall"
	"time"
)

// Outside Linux a child is not told of its parent's death, but sees the end of
// its standard input.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit cannot wait without reaping. Between the reaping of the leader and
// the signal to its group there is a moment in which, if the group is empty and
// all process ids were used up just then, its id could be another's.
func awaitExit(int) bool { return false }

// detached stands for the descendants that left the process group, which are not
// found here.
type detached struct{}

func (*detached) mark(*exec.Cmd) {}

func (*tree) killRest(time.Time) {}
