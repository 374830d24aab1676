// Package mcpware is a kit of middleware for servers and clients, for what goes
// beyond the limits that they have by themselves:
//
//	srv.Use(mcpware.Audit(record), mcpware.RateLimit(mcp.Rate{PerSecond: 5, Burst: 10}, mcp.MethodToolsCall))
//	client.Use(mcpware.Breaker(nil), mcpware.Retry(nil))
//
// The first one is the outermost. On servers: [RateLimit], [Bulkhead], [Timeout],
// [Cache], [Spill], [Audit] and [ProfileLabels]. On clients: [Retry], [Breaker] and
// [AuditClient].
//
// What middleware of a server limits are requests of clients: it lets notifications,
// subscriptions and the server's own requests pass. A call that asks in rounds passes it
// once per round.
package mcpware
