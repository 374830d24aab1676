// Package model has a test that runs random schedules of clients and faults against several
// replicas of a server, in one process and with fake time. A number, the seed, determines a
// schedule. The engine that the replicas share is simulated, and so are the connections, so that
// replicas can be killed and cut off at any moment.
//
//	go test ./internal/model -schedules 100000          more schedules
//	go test ./internal/model -run Schedules/seed=4711$  one of them, with its history
//
// After each schedule the test checks the invariants of invariants_test.go.
//
// The operations of a schedule, their times, and the fate of each call of the engine follow from
// the seed. What does not follow from it is the order of goroutines that run at the same instant
// of the fake time, and the random numbers of crypto/rand. A seed that has failed is likely,
// but not certain, to fail in the same way again.
package model
