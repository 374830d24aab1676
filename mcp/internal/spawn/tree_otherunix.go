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

// strays are the descendants that left the process group. They are not found.
type strays struct{}

func (*strays) mark(*exec.Cmd) {}

func (*tree) clear(time.Time) {}
