package spawn

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const (
	// markVariable is the environment variable that identifies descendants. It holds one
	// mark per generation, the newest last, so that a child that uses this package itself
	// does not hide its children.
	markVariable = "FONDACO_SPAWN"

	// maxMarks bounds its length in bytes; the oldest generations are cut off.
	maxMarks = 1 << 10
)

// detachedProcesses finds the descendants of a child that left its process group (setsid).
// It recognizes them by a mark in the environment that they inherited, or because they were
// descendants of the child when its end began. It misses those that replaced their environment
// and whose parents had ended before, or whose child ends without Close.
type detachedProcesses struct {
	id    string
	noted map[processID]bool
}

func (s *detachedProcesses) mark(cmd *exec.Cmd) {
	s.id = rand.Text()
	marks := os.Getenv(markVariable) + ":" + s.id
	cmd.Env = append(cmd.Env, markVariable+"="+marks[max(0, len(marks)-maxMarks):])
}

// note notes the descendants that a child has now.
func (s *detachedProcesses) note(child int) {
	if s.noted == nil {
		s.noted = make(map[processID]bool)
	}
	for _, id := range descendants(child) {
		s.noted[id] = true
	}
}

// kill kills all detached descendants. It searches again until it finds none,
// because a process can fork between the search and the kill, or until the
// deadline.
func (s *detachedProcesses) kill(deadline time.Time) {
	for s.killFound() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
}

// killFound searches all processes once, kills the detached descendants, and
// reports whether there were any.
func (s *detachedProcesses) killFound() (found bool) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && s.includes(pid) {
			found = true
			killOne(pid, func() bool { return s.includes(pid) })
		}
	}
	return s.killNoted() || found
}

// killNoted kills the noted descendants that still run, and theirs, and reports whether there
// were any.
func (s *detachedProcesses) killNoted() (found bool) {
	for id := range s.noted {
		delete(s.noted, id)
		if !id.alive() {
			continue
		}
		found = true
		for _, below := range descendants(id.pid) {
			s.noted[below] = true
		}
		killOne(id.pid, id.alive)
	}
	return found
}

// killOne kills the process with a number if is says that it is still the right one.
func killOne(pid int, is func() bool) {
	process, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer process.Release()
	// The handle refers to one process from now on. Check again, because the id may have been
	// reused since the first check.
	if is() {
		_ = process.Kill()
		_, _ = process.Wait() // succeeds only if, as process 1, we inherited it
	}
}

// includes reports whether the environment of a process has the mark. It is false
// for processes of other users, which cannot be read, and for dead processes.
func (s *detachedProcesses) includes(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(s.id))
}
