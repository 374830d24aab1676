package streamhttp

import (
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Headers of the protocol. All names are in the form that net/http gives them,
// so that a header can be read from its map by name; on the wire their case
// does not matter.
//
// Spec: 2026-07-28 basic/transports#streamable-http; 2025-11-25 basic/transports#session-management
const (
	HeaderVersion     = "Mcp-Protocol-Version"
	HeaderMethod      = "Mcp-Method"
	HeaderName        = "Mcp-Name"
	HeaderParamPrefix = "Mcp-Param-"
	HeaderSession     = "Mcp-Session-Id"
	HeaderLastEvent   = "Last-Event-Id"
)

// The two media types in which messages travel.
const (
	TypeJSON        = "application/json"
	TypeEventStream = "text/event-stream"
)

// Headers of HTTP itself.
const (
	headerAccept          = "Accept"
	headerAllow           = "Allow"
	headerAuthorization   = "Authorization"
	headerBuffering       = "X-Accel-Buffering"
	headerCacheControl    = "Cache-Control"
	headerChallenge       = "Www-Authenticate"
	headerConnection      = "Connection"
	headerContentEncoding = "Content-Encoding"
	headerContentLength   = "Content-Length"
	headerContentOptions  = "X-Content-Type-Options"
	headerContentType     = "Content-Type"
	headerFetchSite       = "Sec-Fetch-Site"
	headerOrigin          = "Origin"
	headerRetryAfter      = "Retry-After"
	headerVary            = "Vary"
)

// Headers by which a browser and a server agree on requests across origins.
const (
	headerCORSOrigin         = "Access-Control-Allow-Origin"
	headerCORSExpose         = "Access-Control-Expose-Headers"
	headerCORSMethods        = "Access-Control-Allow-Methods"
	headerCORSHeaders        = "Access-Control-Allow-Headers"
	headerCORSMaxAge         = "Access-Control-Max-Age"
	headerCORSRequestMethod  = "Access-Control-Request-Method"
	headerCORSRequestHeaders = "Access-Control-Request-Headers"
)

// standardHeaders returns what the dialect has to know of a request's headers:
// every value that was sent under each name, since a repeated header is refused
// and not read by its first value.
func standardHeaders(h http.Header) dialect.Headers {
	return dialect.Headers{
		Version: h[HeaderVersion],
		Method:  h[HeaderMethod],
		Name:    h[HeaderName],
		Params:  paramHeaders(h),
	}
}

// paramHeaders are the headers that mirror parameters, among all of a request.
type paramHeaders http.Header

// Param implements dialect.ParamHeaders.
func (h paramHeaders) Param(name string) []string {
	return http.Header(h).Values(HeaderParamPrefix + name)
}

// mayCrossOrigins reports whether a page of an allowed origin may set the
// header: those of the protocol, and the few that its requests need.
func mayCrossOrigins(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case HeaderVersion, HeaderMethod, HeaderName, HeaderSession, HeaderLastEvent,
		headerAccept, headerAuthorization, headerContentType:
		return true
	}
	return strings.HasPrefix(name, HeaderParamPrefix)
}
