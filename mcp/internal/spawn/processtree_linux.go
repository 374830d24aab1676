package spawn

import (
	"syscall"
	"time"
)

// dieWithParent has the child sent SIGTERM when the thread that forked it dies;
// see Process.run for why that thread does not die earlier than this process.
// SIGTERM rather than SIGKILL, so that a launcher can pass it on.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// awaitExit waits until the child is dead and leaves it to be waited for. It
// reports whether it could.
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
