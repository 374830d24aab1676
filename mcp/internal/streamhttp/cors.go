package streamhttp

import (
	"net/http"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// exposedHeaders are those that a page may read: the session, and what a refusal says about the
// credentials that are needed and the time after which the request can be repeated.
const exposedHeaders = httpheader.SessionID + ", WWW-Authenticate, " + httpheader.RetryAfter

// allowReading sets the headers that let a page of an allowed origin read the answer.
// Without a configured origin it sets none. It never allows credentials that a browser
// adds by itself.
//
// Spec: WHATWG Fetch 3.3, CORS protocol
func (g *originCheck) allowReading(answer http.Header, r *http.Request) {
	if !g.anyOrigin && len(g.origins) == 0 {
		return
	}
	answer.Add(httpheader.Vary, httpheader.Origin)
	if origins := r.Header[httpheader.Origin]; len(origins) == 1 && g.allowed(origins[0], r) {
		answer.Set(httpheader.CORSAllowOrigin, origins[0])
		answer.Set(httpheader.CORSExposeHeaders, exposedHeaders)
	}
}

// preflight answers a CORS preflight request of an allowed origin. It reports false for
// every other request.
func (g *originCheck) preflight(w http.ResponseWriter, r *http.Request, methods string) bool {
	h := w.Header()
	if r.Method != http.MethodOptions || h.Get(httpheader.CORSAllowOrigin) == "" || r.Header.Get(httpheader.CORSRequestMethod) == "" {
		return false
	}
	h.Set(httpheader.CORSAllowMethods, methods)
	h.Set(httpheader.CORSAllowHeaders, strings.Join(requestedHeaders(r), ", "))
	h.Set(httpheader.CORSMaxAge, "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// requestedHeaders returns which of the headers that a page wants to set it may.
func requestedHeaders(r *http.Request) []string {
	var granted []string
	for _, line := range r.Header[httpheader.CORSRequestHeaders] {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); allowedAcrossOrigins(name) {
				granted = append(granted, name)
			}
		}
	}
	return granted
}
