package spawn

import (
	"fmt"
	"io"
	"time"
)

// killGrace is how long a killed child may take to disappear. It takes longer
// only while the kernel holds it in an uninterruptible wait.
const killGrace = 2 * time.Second

// Close ends the child and everything that it started, step by step:
//
//	close standard input             a server exits by itself
//	└─ TermAfter: terminate the tree (SIGTERM to the group, Ctrl-Break on Windows)
//	    └─ KillAfter: kill the tree
//
// Each step is taken only when the child has not ended before. Output that
// nobody has read is thrown away. Close returns when all is over, and then
// frees the pipes; its error says that the child could not be killed, never how
// it exited. Further calls wait for the first and return the same.
//
// Spec: 2026-07-28 basic/transports#shutdown
func (p *Process) Close() error { return p.end() }

func (p *Process) shutDown() error {
	begin := time.Now()
	_ = p.stdin.Close()
	_ = p.stdout.SetReadDeadline(time.Time{})
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, p) // a child that flushes at its end must not block
	}()
	ended := p.descend(begin)
	_ = p.stdout.Close()
	<-drained
	if !ended {
		return fmt.Errorf("close command: process %d is still there after it was killed", p.Pid())
	}
	return nil
}

// descend takes the steps of Close and reports whether the child has ended.
func (p *Process) descend(begin time.Time) bool {
	if p.endsBy(begin.Add(p.opts.termAfter())) {
		return true
	}
	p.signal((*tree).terminate)
	if p.endsBy(begin.Add(p.opts.killAfter())) {
		return true
	}
	p.signal((*tree).kill)
	return p.endsBy(time.Now().Add(killGrace))
}

func (p *Process) endsBy(deadline time.Time) bool {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
