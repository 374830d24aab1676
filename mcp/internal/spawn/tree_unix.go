//go:build unix

package spawn

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// tree is a child and what it started: a process group. It may be signalled
// only while its leader has not been waited for.
type tree struct {
	group  int
	strays strays
}

func (t *tree) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	t.strays.mark(cmd)
}

func (t *tree) plant(leader *os.Process) error {
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

// clear removes what the group could not reach and waits, until the deadline,
// for orphans of the group that fell to us: the kernel gives them to process 1,
// which in a container may be this one, and nobody else would wait for them.
func (t *tree) clear(deadline time.Time) {
	t.strays.kill(deadline)
	for {
		pid, err := syscall.Wait4(-t.group, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR || pid > 0:
		case err != nil || time.Now().After(deadline):
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
}
