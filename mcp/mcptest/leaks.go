package mcptest

import (
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/leak"
)

// Main runs the tests of a package and exits. It is for TestMain:
//
//	func TestMain(m *testing.M) { mcptest.Main(m) }
//
// If the tests pass, it waits up to two minutes for the end of all goroutines that run
// code of this module or that it has started. If some remain, it prints their stacks and
// exits with status 1, because a client or a connection was not closed.
func Main(m *testing.M) { leak.Main(m) }

// CheckLeaks fails the test if it leaves goroutines that run code of this module or that
// the module has started. Call it first in a test, so that it checks after all other
// cleanup functions; goroutines then have two minutes to end. Do not use it in tests that
// run in parallel with others, because it cannot distinguish their goroutines.
func CheckLeaks(tb testing.TB) {
	tb.Helper()
	leak.Check(tb)
}
