//go:build unix

package spawn

import (
	"os"
	"os/exec"
	"syscall"
)

// tree is a child and its descendants: a process group. It may be signalled only before its
// leader is reaped.
type tree struct {
	group    int
	detached detachedProcesses
}

func (t *tree) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	t.detached.mark(cmd)
}

func (t *tree) attach(leader *os.Process) error {
	t.group = leader.Pid
	return nil
}

// terminate also wakes a stopped child, which could not act on the signal.
func (t *tree) terminate() {
	_ = syscall.Kill(-t.group, syscall.SIGTERM)
	_ = syscall.Kill(-t.group, syscall.SIGCONT)
}

func (t *tree) kill() {
	_ = syscall.Kill(-t.group, syscall.SIGKILL)
}

// noteDescendants notes the descendants before the leader is asked to end: as soon as it has
// ended, nothing tells whose children they were.
func (t *tree) noteDescendants() { t.detached.note(t.group) }
