//go:build race

package compatibility

// See norace_test.go. The race detector makes programs slower.
const (
	slowdown      = 5
	probeSlowdown = 5
)
