package leak

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m) }

func TestGoroutineThatStaysIsReported(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		<-stop
	}()
	left := wait(20*time.Millisecond, all)
	close(stop)
	<-stopped
	if !strings.Contains(strings.Join(left, "\n"), "TestGoroutineThatStaysIsReported") {
		t.Errorf("got %q, want the stack of the test's goroutine", left)
	}
}

func TestGoroutineThatEndsWithinTheGraceIsNot(t *testing.T) {
	stop := make(chan struct{})
	go func() { <-stop }()
	time.AfterFunc(20*time.Millisecond, func() { close(stop) })
	ours := func(stack string) bool { // and not the runner, which stays
		return strings.Contains(stack, "TestGoroutineThatEndsWithinTheGraceIsNot.func1")
	}
	if left := wait(grace, ours); len(left) > 0 {
		t.Errorf("got %s, want none", left)
	}
}

// watched is a test whose failures are kept and whose end is chosen.
type watched struct {
	testing.TB
	failures []string
	cleanup  func()
}

func (w *watched) Helper()          {}
func (w *watched) Cleanup(f func()) { w.cleanup = f }
func (w *watched) Errorf(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func TestGoroutinesOfOtherTestsAreNotReported(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		<-stop
	}()
	w := &watched{TB: t}
	Check(w)
	w.cleanup()
	close(stop)
	<-stopped
	if len(w.failures) > 0 {
		t.Errorf("got %q, want nothing of what was there before", w.failures)
	}
}
