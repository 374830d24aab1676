package spawn_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

func TestCloseTakesEachStepOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-050a", "R-080")
	if runtime.GOOS == "windows" {
		t.Skip("the texts are those of signals")
	}
	const soon, never = 50 * time.Millisecond, time.Hour
	tests := []struct {
		role       string
		stop       bool
		term, kill time.Duration
		want       string
	}{
		{role: "echo", term: never, kill: never, want: ""},
		{role: "deaf", term: soon, kill: never, want: "ended by signal: terminated"},
		{role: "deaf", stop: true, term: soon, kill: never, want: "ended by signal: terminated"},
		{role: "stubborn", term: soon, kill: 2 * soon, want: "ended by signal: killed"},
		{role: "stubborn", stop: true, term: soon, kill: 2 * soon, want: "ended by signal: killed"},
	}
	for _, test := range tests {
		name := test.role
		if test.stop {
			name += " and stopped"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, command(test.role), &spawn.Options{TermAfter: test.term, KillAfter: test.kill})
			awaitReady(t, p, test.role)
			if test.stop {
				stop(t, p.Pid())
			}
			if err := p.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			got := ""
			if err := p.Wait(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// awaitReady waits until the child has set itself up.
func awaitReady(t *testing.T, p *spawn.Process, role string) {
	t.Helper()
	if role == "echo" {
		_, _ = io.WriteString(p, "ready\n")
	}
	if got := line(t, p); got != "ready" {
		t.Fatalf("got %q, want ready", got)
	}
}

func TestCloseKillsTheGrandchildToo(t *testing.T) {
	t.Parallel()
	p := start(t, command("parent", "mute", "bare", "wait"), hasty())
	grandchild := line(t, p)
	mustBeAlive(t, grandchild)
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	mustBeGone(t, grandchild)
}

func TestCloseLetsTheChildFlush(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-050a")
	p := start(t, command("hoard"), nil)
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := p.Wait(); err != nil || p.StderrTail() != "all written\n" {
		t.Errorf("got %v and %q, want a child that could write all", err, p.StderrTail())
	}
}

func TestCloseMayBeCalledAgainAndAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, command("deaf"), hasty())
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if err := p.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			select {
			case <-p.Done():
			default:
				t.Error("got Close back before the end")
			}
		})
	}
	calls.Wait()
}

func TestCloseUnblocksReadAndWrite(t *testing.T) {
	t.Parallel()
	p := start(t, command("stubborn"), hasty())
	awaitReady(t, p, "stubborn")
	results := make(chan error, 2)
	go func() {
		_, err := p.Read(make([]byte, 1))
		results <- err
	}()
	go func() {
		_, err := p.Write(make([]byte, 1<<20)) // more than the pipe takes
		results <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	for range 2 {
		if err := <-results; err == nil {
			t.Error("got nil, want an error")
		}
	}
}

func TestReadAndWriteAfterCloseFail(t *testing.T) {
	t.Parallel()
	p := start(t, command("echo"), nil)
	_ = p.Close()
	if _, err := p.Write([]byte("x")); err == nil {
		t.Error("write: got nil, want an error")
	}
	if _, err := p.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read: got %v, want an error other than EOF", err)
	}
}

func TestManyChildrenLeaveNothing(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	start(t, spawn.Command{Path: cat}, nil).Close() // opens what the runtime keeps open
	fds, children := resources(t)
	var lanes sync.WaitGroup
	for range 4 {
		lanes.Go(func() {
			for i := range 50 {
				c := spawn.Command{Path: cat}
				if i%3 == 0 {
					c.Args = []string{"/nowhere"} // ends by itself, with status 1
				}
				p, err := spawn.Start(c, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				if err := p.Wait(); (err != nil) != (i%3 == 0) {
					t.Errorf("got %v from cat %v", err, c.Args)
				}
			}
		})
	}
	lanes.Wait()
	for range 20 {
		if p, err := spawn.Start(spawn.Command{Path: os.DevNull}, nil); err == nil {
			t.Errorf("got process %d that runs %s", p.Pid(), os.DevNull)
		}
	}
	if nowFds, nowChildren := resources(t); nowFds > fds || nowChildren != children {
		t.Errorf("got %d descriptors and children %q, want %d and %q", nowFds, nowChildren, fds, children)
	}
}
