package spawn_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
)

func TestChildEchoesItsInput(t *testing.T) {
	t.Parallel()
	p := start(t, command("echo"), nil)
	if _, err := io.WriteString(p, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if got := line(t, p); got != "hello" {
		t.Errorf("got %q, want %q", got, "hello")
	}
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("wait: got %v, want nil for a child that exits at the end of its input", err)
	}
}

func TestCrashIsReportedWithStatusAndLastLine(t *testing.T) {
	t.Parallel()
	p := start(t, command("crash"), nil)
	err := p.Wait()
	if got, want := fmt.Sprint(err), "exited with status 2: [31mWEATHER_KEY[0m is not set"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	exit, ok := errors.AsType[*spawn.ExitError](err)
	if !ok || exit.Status != 2 {
		t.Errorf("got %#v, want status 2", err)
	}
	if got, want := p.StderrTail(), "reading the configuration\n\x1b[31mWEATHER_KEY\x1b[0m is not set\r\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadAfterTheEndReturnsWhatIsLeftThenEOF(t *testing.T) {
	t.Parallel()
	p := start(t, command("args", "left"), nil)
	<-p.Done()
	if got, want := output(t, p), "[\"left\"]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutputOfAnExitedChildCanBeReadLater(t *testing.T) {
	t.Parallel()
	atOnce := &spawn.Options{WaitDelay: 1} // it has passed before anything is read
	p := start(t, command("args", "left"), atOnce)
	<-p.Done()
	if got, want := output(t, p), "[\"left\"]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p = start(t, command("crash"), atOnce)
	_ = p.Wait()
	if got := p.StderrTail(); !strings.Contains(got, "WEATHER_KEY") {
		t.Errorf("got %q on standard error, want all of it", got)
	}
}

func TestReadDeadlineOfARunningChildIsObeyed(t *testing.T) {
	t.Parallel()
	p := start(t, command("echo"), nil)
	if err := p.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Skip(err)
	}
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
}

func TestFloodOfStandardErrorNeitherBlocksNorIsBuffered(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-072a", "R-072b")
	var mu sync.Mutex
	var seen, omitted int
	var last string
	p := start(t, command("flood"), &spawn.Options{
		StderrLimit: 1000,
		StderrLine: func(line string, n int) {
			mu.Lock()
			defer mu.Unlock()
			seen++
			omitted += n
			last = line
		},
	})
	if got := line(t, p); got != "done" {
		t.Errorf("got %q, want done", got)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	tail := p.StderrTail()
	if len(tail) != 1000 || !strings.HasSuffix(tail, "xxx\nthe last line\n") {
		t.Errorf("got a tail of %d bytes that ends in %q, want 1000 and the last line", len(tail), tail[max(0, len(tail)-20):])
	}
	mu.Lock()
	defer mu.Unlock()
	if want := 64*(8<<10) + 1; seen+omitted != want || seen < 100 || seen > 1000 {
		t.Errorf("got %d lines and %d omitted, want together %d and a few hundred lines", seen, omitted, want)
	}
	if last != "the last line" {
		t.Errorf("got %q at the end, want the last line", last)
	}
}

func TestGrandchildIsKilledWithTheLeader(t *testing.T) {
	t.Parallel()
	// The leader is gone at once; the grandchild holds all three pipes.
	p := start(t, command("parent", "mute", "bare"), nil)
	grandchild := line(t, p)
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, grandchild)
	if rest, err := io.ReadAll(p); err != nil {
		t.Errorf("got %q, %v after the end, want EOF", rest, err)
	}
}
