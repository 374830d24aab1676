// Package mcpware has middleware for servers and clients, in addition to their
// built-in limits:
//
//	srv.Use(mcpware.Audit(record), mcpware.StoreLargeResults(srv, nil))
//	client.Use(mcpware.Breaker(nil), mcpware.Retry(nil))
//
// The first one is the outermost. On servers: [Cache], [StoreLargeResults], [Audit] and
// [ProfileLabels]. On clients: [Retry], [Breaker] and [AuditClient]. Rates, the number of calls that
// run at once and their time are limited by mcpserver itself: mcpserver.LoadOptions, and the options
// Rate, Limit and Timeout of a tool.
//
// A call with several rounds passes the middleware of a server once per round.
package mcpware
