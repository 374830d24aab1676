package streamhttp

import (
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// standardHeaders returns what the dialect has to know of a request's headers:
// every value that was sent under each name, since a repeated header is refused
// and not read by its first value.
func standardHeaders(h http.Header) dialect.Headers {
	return dialect.Headers{
		Version: h[httpheader.ProtocolVersion],
		Method:  h[httpheader.Method],
		Name:    h[httpheader.Name],
		Params:  paramHeaders(h),
	}
}

// paramHeaders are the headers that mirror parameters, among all of a request.
type paramHeaders http.Header

// Param implements dialect.ParamHeaders.
func (h paramHeaders) Param(name string) []string {
	return http.Header(h).Values(httpheader.ParamPrefix + name)
}

// allowedAcrossOrigins reports whether a page of an allowed origin may set the
// header: those of the protocol, and the few that its requests need.
func allowedAcrossOrigins(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case httpheader.ProtocolVersion, httpheader.Method, httpheader.Name, httpheader.SessionID, httpheader.LastEventID,
		httpheader.Accept, httpheader.Authorization, httpheader.ContentType:
		return true
	}
	return strings.HasPrefix(name, httpheader.ParamPrefix)
}
