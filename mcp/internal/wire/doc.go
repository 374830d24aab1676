// Package wire validates messages by the schema of a revision of the protocol,
// for tests.
//
// A Schema is generated from the types of package mcp, the facts of package
// dialect and the tables in members.go. A Conversation tracks the two peers of
// one connection, so that a result is validated for the method that it answers
// and for the negotiated revision. A Monitor does so for connections, HTTP
// handlers and HTTP clients.
package wire
