package spawn

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// killGrace is how long a killed child may take to disappear. It takes longer
// only while the kernel holds it in an uninterruptible wait. Tests of slow machines change it.
var killGrace = 2 * time.Second

// Close ends the child and everything that it started, step by step:
//
//	close standard input             a server exits by itself
//	└─ TermAfter: terminate the tree (SIGTERM to the group, Ctrl-Break on Windows)
//	    └─ KillAfter: kill the tree
//
// Each step is taken only if the child has not ended before. Output that was not
// read is discarded. Close frees the pipes and returns when the child has ended;
// its error says that the child could not be killed, never how it exited. Further
// calls wait for the first and return the same.
//
// Spec: 2026-07-28 basic/transports#shutdown
func (p *Process) Close() error { return p.end() }

func (p *Process) shutDown() error {
	begin := time.Now()
	p.signal((*tree).noteDescendants)
	_ = p.stdin.Close()
	_ = p.stdout.SetReadDeadline(time.Time{})
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, p) // a child that flushes at its end must not block
	}()
	ended := p.escalate(begin)
	_ = p.stdout.Close()
	<-drained
	if !ended {
		return fmt.Errorf("close command: process %d is still there after it was killed", p.Pid())
	}
	return nil
}

// escalate takes the steps of Close and reports whether the child has ended.
func (p *Process) escalate(begin time.Time) bool {
	if p.waitUntil(begin.Add(p.opts.termAfter())) {
		return true
	}
	p.signal((*tree).noteDescendants)
	p.signal((*tree).terminate)
	if p.waitUntil(begin.Add(p.opts.killAfter())) {
		return true
	}
	p.signal((*tree).noteDescendants)
	p.killed.Store(true)
	p.signal((*tree).kill)
	return p.waitUntil(time.Now().Add(killGrace))
}

// LeftContainer returns the name of a container that may still run, because Close has killed the program
// that has started it before that could end it, or "". Call it after Close.
func (p *Process) LeftContainer() string {
	if !p.killed.Load() || !slices.Contains(containerPrograms, programName(runtime.GOOS, p.command.Path)) {
		return ""
	}
	for i, arg := range p.command.Args {
		if name, ok := strings.CutPrefix(arg, "--name="); ok {
			return name
		}
		if arg == "--name" && i+1 < len(p.command.Args) {
			return p.command.Args[i+1]
		}
	}
	return "without a name of its own"
}

// containerPrograms run containers, which do not end with them.
var containerPrograms = []string{"docker", "podman", "nerdctl"}

func (p *Process) waitUntil(deadline time.Time) bool {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
