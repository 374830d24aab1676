//go:build !unix

package spawn_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
)

func setsid() *syscall.SysProcAttr { return nil }

func stop(t *testing.T, _ int) { t.Skip("processes cannot be stopped here") }

func alive(pid string) bool {
	id, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	p, err := os.FindProcess(id)
	if err == nil {
		_ = p.Release()
	}
	return err == nil
}

func mustBeAlive(t *testing.T, pid string) {
	t.Helper()
	if !alive(pid) {
		t.Errorf("process %s: got gone, want alive", pid)
	}
}

func mustBeGone(t *testing.T, pid string) {
	t.Helper()
	if alive(pid) {
		t.Errorf("process %s: got alive, want gone", pid)
	}
}

func resources(t *testing.T) (fds int, children string) {
	t.Skip("descriptors cannot be counted here")
	return 0, ""
}
