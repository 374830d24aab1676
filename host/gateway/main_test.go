package gateway_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails when goroutines of this module outlive the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	left := goroutines()
	for deadline := time.Now().Add(5 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = goroutines() {
		time.Sleep(10 * time.Millisecond)
	}
	if code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "%d goroutines outlived the tests:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// goroutines returns the stacks of all goroutines of this module but this one.
func goroutines() (left []string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for i, stack := range strings.Split(string(stacks), "\n\n") {
		if i > 0 && strings.Contains(stack, "fondaco/fondaco/") {
			left = append(left, stack)
		}
	}
	return left
}
