package leak

import (
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
	left := wait(20 * time.Millisecond)
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
	for _, stack := range wait(200 * time.Millisecond) { // the runner is among them
		if strings.Contains(stack, "TestGoroutineThatEndsWithinTheGraceIsNot.func1") {
			t.Errorf("got %s, want none", stack)
		}
	}
}
