// Package fault has tests that inject faults: real processes are killed, stopped and
// restarted, connections are cut without notice, peers flood, descriptors and disks are
// exhausted. Each test checks the invariants that apply:
//
//   - each call ends in exactly one result or error, in time
//   - no answer reaches another caller
//   - a side effect is attempted at most once
//   - goroutines, descriptors and children are as before
//
// TestFault… run with all tests at small size. With -tags load TestLoad… run at full
// size; run them alone on the machine. With -tags replicas TestReplicas… kill processes that share
// sessions in an engine, under clients of this SDK and of others.
package fault
