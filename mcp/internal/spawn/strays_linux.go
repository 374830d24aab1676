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
	// markVariable is the environment variable by which descendants are found.
	// It holds one mark per generation, the newest last, so that a child that
	// spawns children in this way too does not hide them.
	markVariable = "FONDACO_SPAWN"

	// maxMarks bounds its length in bytes; the oldest generations are cut off.
	maxMarks = 1 << 10
)

// strays are the descendants of a child that left its process group (setsid).
// They are recognized by the mark in the environment that they inherited; one
// that runs with another environment is not.
type strays struct{ id string }

func (s *strays) mark(cmd *exec.Cmd) {
	s.id = rand.Text()
	marks := os.Getenv(markVariable) + ":" + s.id
	cmd.Env = append(cmd.Env, markVariable+"="+marks[max(0, len(marks)-maxMarks):])
}

// kill kills all strays. It looks again until none is left, because a process
// can fork between the look and the kill, but not after the deadline.
func (s *strays) kill(deadline time.Time) {
	for s.killSeen() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
}

// killSeen goes through all processes once and reports whether it met a stray.
func (s *strays) killSeen() (met bool) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && s.owns(pid) {
			met = true
			s.killOne(pid)
		}
	}
	return met
}

func (s *strays) killOne(pid int) {
	stray, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer stray.Release()
	// The process is held by a descriptor now: look again, lest the id has
	// passed to another since.
	if s.owns(pid) {
		_ = stray.Kill()
		_, _ = stray.Wait() // succeeds only if, as process 1, we inherited it
	}
}

// owns reports whether the environment of a process holds the mark. It does not
// for processes of other users, which cannot be read, and for dead ones.
func (s *strays) owns(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(s.id))
}
