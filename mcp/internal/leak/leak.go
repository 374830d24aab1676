// Package leak makes the tests of a package fail if goroutines are still
// running after them.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// grace is the time that goroutines may take to end after the last test. Only goroutines that stay
// use it up.
const grace = 2 * time.Minute

// ours occurs in the stack of every goroutine that runs code of this module or
// was started by it.
const ours = "github.com/fondaco/fondaco/"

// Main runs the tests and exits. It is for TestMain:
//
//	func TestMain(m *testing.M) { leak.Main(m) }
//
// If the tests pass but goroutines of this module are still running, it prints
// their stacks and exits with status 1.
func Main(m *testing.M) {
	code := m.Run()
	if code != 0 {
		os.Exit(code)
	}
	if left := wait(grace, all); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "leak: %d goroutines outlived the tests:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		os.Exit(1)
	}
	os.Exit(0)
}

// Check fails the test if goroutines of this module that are not running now
// are still running at its end.
func Check(tb testing.TB) {
	tb.Helper()
	before := make(map[string]bool)
	for _, stack := range goroutines() {
		before[id(stack)] = true
	}
	tb.Cleanup(func() {
		left := wait(grace, func(stack string) bool { return !before[id(stack)] })
		if len(left) > 0 {
			tb.Errorf("leak: %d goroutines outlived the test:\n\n%s", len(left), strings.Join(left, "\n\n"))
		}
	})
}

// id returns the name of a goroutine from the first line of its stack:
// "goroutine 7".
func id(stack string) string {
	name, _, _ := strings.Cut(stack, " [")
	return name
}

func all(string) bool { return true }

// wait waits until the goroutines of ours that count have ended, or grace is
// over, and returns those that are still running.
func wait(grace time.Duration, counts func(stack string) bool) []string {
	deadline := time.Now().Add(grace)
	for {
		left := slices.DeleteFunc(goroutines(), func(stack string) bool { return !counts(stack) })
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// goroutines returns the stacks of all goroutines of ours except the caller's.
func goroutines() []string {
	var left []string
	for i, stack := range strings.Split(stacks(), "\n\n") {
		if i > 0 && strings.Contains(stack, ours) { // the first is the caller's
			left = append(left, stack)
		}
	}
	return left
}

func stacks() string {
	buf := make([]byte, 64<<10)
	for {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return string(buf[:n])
		}
		buf = make([]byte, 2*len(buf))
	}
}
