// Package fault holds the tests that break things on purpose: real processes are
// killed, stopped and restarted, connections go silent, peers flood, descriptors and
// disks run out. Each test holds what is left against the invariants that apply:
//
//   - each call ends in exactly one result or error, in time
//   - no answer reaches another caller
//   - a side effect is attempted at most once
//   - goroutines, descriptors and children are what they were
//
// TestFault… run with all tests, small; with -tags load TestLoad… run the same at
// full size, alone on the machine.
package fault
