// Package mcpware has middleware for servers and clients, in addition to their
// built-in limits:
//
//	srv.Use(mcpware.Audit(record), mcpware.RateLimit(mcp.Rate{PerSecond: 5, Burst: 10}, mcp.MethodToolsCall))
//	client.Use(mcpware.Breaker(nil), mcpware.Retry(nil))
//
// The first one is the outermost. On servers: [RateLimit], [Bulkhead], [Timeout],
// [Cache], [StoreLargeResults], [Audit] and [ProfileLabels]. On clients: [Retry], [Breaker] and
// [AuditClient].
//
// Middleware of a server limits requests of clients; it does not limit notifications, subscriptions
// and the server's own requests. A call with several rounds passes it once per round.
package mcpware
