// Package mcptest tests servers and clients of the Model Context Protocol: both
// ends in memory, in every revision, with the wire in view.
//
// Connect gives a test of a server a client of it, and EachRevision runs the
// test once per revision; Answer has it answer questions, and CheckReplay finds
// handlers that ask and are not repeatable. NewServer is a server to try a client or a transport
// against, and TestTransport the test that a transport has to pass. A Transcript is a
// conversation in a file: Record makes one, and Play speaks one side of it
// to whatever is at the other end of a connection.
//
// What goes between two ends that Connect has connected is valid, or the test
// fails; CheckWire, CheckHandler and CheckTransport see to it for others. Grease
// adds what the protocol may bring one day, InjectFaults and BreakAfter do what bad peers do,
// and CheckLeaks finds goroutines that outlive a test.
package mcptest
