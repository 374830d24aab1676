// Package mcptest supports tests of servers and clients of the Model Context Protocol, in
// memory and in every revision.
//
// For tests of a server, HTTP serves a handler, Connect returns a client, EachRevision runs
// a test once per revision, Answer sets answers to questions, and CheckReplay finds handlers
// that ask and are not repeatable. For tests of a client, NewServer returns a server with
// every feature. TestTransport is a test of a transport. A Transcript is a recorded
// conversation in a file: Record makes one, and Transcript.Play sends the messages of one
// side and compares those of the other.
//
// CheckStore, CheckBus and CheckEventStore test the engine behind several replicas, and
// CheckFaults tests what it does while its server fails.
//
// RecordSession writes the session of a client to a file, and RecordedServer answers as the server in it did.
//
// CheckSurface compares what a server shows with a golden file.
//
// Connect fails the test for each message that is not valid. CheckWire, CheckHandler and
// CheckTransport do so for other connections. Grease adds unknown members and methods,
// InjectFaults and BreakAfter simulate faulty peers, and CheckLeaks finds goroutines that
// outlive a test.
package mcptest
