package mcptest

import (
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/leak"
)

// Main runs the tests of a package and exits. It is for TestMain:
//
//	func TestMain(m *testing.M) { mcptest.Main(m) }
//
// When the tests have passed but goroutines that run code of this module, or that
// it has started, are there five seconds later, it prints their stacks and exits
// with status 1: a client or a connection was not closed.
func Main(m *testing.M) { leak.Main(m) }

// CheckLeaks fails the test when goroutines that run code of this module, or that it
// has started, are left at the end and were not there when CheckLeaks was called. It
// comes first in a test, so that it looks when all the rest has been cleaned up;
// then goroutines have five seconds to end. It is not for tests that run in
// parallel with others, whose goroutines it cannot tell from those of its own.
func CheckLeaks(tb testing.TB) {
	tb.Helper()
	leak.Check(tb)
}
