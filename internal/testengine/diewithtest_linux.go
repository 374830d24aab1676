package testengine

import (
	"os/exec"
	"syscall"
)

// dieWithTest lets the system kill the program when the process of the test ends.
func dieWithTest(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
