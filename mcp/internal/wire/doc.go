// Package wire knows which messages are valid in a revision of the protocol.
//
// A Schema is generated from the types of package mcp and the facts of package
// dialect, and what neither of them says stands in the tables of members.go.
// A Conversation follows the two peers of one connection, so that a result is
// held against the method that it answers and against the revision on which
// they have agreed. A Monitor does so in the middle of connections, HTTP
// handlers and HTTP clients.
package wire
