//go:build unix

package spawn_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func setsid() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// alive reports whether the process is there and not a zombie that process 1
// has not collected yet.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	id, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(id, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func mustBeAlive(t *testing.T, pid string) {
	t.Helper()
	if !alive(t, pid) {
		t.Errorf("process %s: got gone, want alive", pid)
	}
}

// mustBeGone waits until a killed process has disappeared. One that was not killed stays for its lifetime.
func mustBeGone(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); alive(t, pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("process %s: got alive, want gone", pid)
			return
		}
	}
}

// resources counts the descriptors of this process and lists its children.
func resources(t *testing.T) (fds int, children string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		list, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		children += string(list)
	}
	return len(entries), children
}
