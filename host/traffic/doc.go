// Package traffic keeps the last messages of a host: the flight recorder. Of each message it has the
// envelope (who, when, which method, how large, which outcome) and never the body, so that a report
// after a fault has the fault in it without having what was said.
//
// A Recorder sees both sides of the host: the messages of its clients and those of its upstreams.
//
// # Cost
//
// A message is scanned once, without building a tree, and costs about a microsecond. A Recorder has
// room for 1,000 messages of at most 1.5 KiB each, and never waits for those who read from it.
package traffic
