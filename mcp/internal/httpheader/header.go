// Package httpheader names the HTTP headers and media types that the client
// half and the server half of MCP's HTTP transports have in common.
//
// All names are in canonical form (see [net/http.CanonicalHeaderKey]), so that
// a header can be read from its http.Header by index. Their case does not matter
// on the wire.
package httpheader

// Headers of the protocol.
//
// Spec: 2026-07-28 basic/transports#streamable-http; 2025-11-25 basic/transports#session-management
const (
	ProtocolVersion = "Mcp-Protocol-Version"
	Method          = "Mcp-Method"
	Name            = "Mcp-Name"
	ParamPrefix     = "Mcp-Param-"
	SessionID       = "Mcp-Session-Id"
	LastEventID     = "Last-Event-Id"
)

// Media types in which messages travel.
const (
	TypeJSON        = "application/json"
	TypeEventStream = "text/event-stream"
)

// Headers of HTTP itself.
const (
	AccelBuffering     = "X-Accel-Buffering"
	Accept             = "Accept"
	Allow              = "Allow"
	Authorization      = "Authorization"
	CacheControl       = "Cache-Control"
	Connection         = "Connection"
	ContentEncoding    = "Content-Encoding"
	ContentLength      = "Content-Length"
	ContentType        = "Content-Type"
	ContentTypeOptions = "X-Content-Type-Options"
	ForwardedFor       = "X-Forwarded-For"
	Origin             = "Origin"
	RetryAfter         = "Retry-After"
	SecFetchSite       = "Sec-Fetch-Site"
	Vary               = "Vary"
	WWWAuthenticate    = "Www-Authenticate"
)

// Headers with which a browser and a server negotiate requests across origins.
//
// Spec: WHATWG Fetch 3.3, CORS protocol
const (
	CORSAllowHeaders   = "Access-Control-Allow-Headers"
	CORSAllowMethods   = "Access-Control-Allow-Methods"
	CORSAllowOrigin    = "Access-Control-Allow-Origin"
	CORSExposeHeaders  = "Access-Control-Expose-Headers"
	CORSMaxAge         = "Access-Control-Max-Age"
	CORSRequestHeaders = "Access-Control-Request-Headers"
	CORSRequestMethod  = "Access-Control-Request-Method"
)
