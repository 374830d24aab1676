//go:build !race

package compatibility

// slowdown is how much longer a row may take than the page promises: the tests of other
// packages run beside it. A row in which a client or a server waits for the time limit of a
// call takes 30 s. The time limit of the probe is 3 s, so a row about the answer to it gets no more
// than the page promises.
const (
	slowdown      = 3
	probeSlowdown = 1
)
