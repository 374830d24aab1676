// Package frommcpgo runs handlers and servers that are written for github.com/mark3labs/mcp-go
// in a server of this SDK, unchanged. [Mount] serves all features of a server; [Tool],
// [Prompt], [Resource] and [Template] serve one.
//
// The handlers run in their own SDK: behind its middleware and hooks, and with a session of
// its own for each session of the client. In the stateless era, which has no sessions, each
// request has a session for itself. What a handler sends to its session goes to the client of
// the call that its context belongs to: progress, log messages, and the requests for
// elicitation, sampling and roots. In the stateless era such a request ends the run of the
// handler, and the handler runs again from the top when the client has answered, as one that
// calls mcpserver.Ask does.
//
// docs/from-mcp-go.md of the project describes the migration, and what differs.
package frommcpgo
