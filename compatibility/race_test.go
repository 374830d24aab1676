//go:build race

package compatibility

// slowdown is how much longer a row may take than the page promises: the race detector
// makes programs slower, and the tests of other packages run beside it.
const slowdown = 5
