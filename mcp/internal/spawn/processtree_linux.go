package spawn

import (
	"syscall"
	"time"
)

// dieWithParent makes the kernel send SIGTERM to the child when the thread that forked it
// ends; Process.run keeps that thread as long as the child lives. The signal is SIGTERM and
// not SIGKILL, so that a launcher can forward it.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// awaitExit waits until the child has ended, without reaping it. It returns false if that
// fails.
func awaitExit(pid int) bool {
	const pPID = 1
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), 0,
			syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return errno == 0
		}
	}
}

// killRest kills the descendants that left the group. It also waits, until the
// deadline, for orphans of the group: the kernel makes them children of process 1,
// which in a container may be this process, and no other would wait for them.
func (t *tree) killRest(deadline time.Time) {
	t.detached.kill(deadline)
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
