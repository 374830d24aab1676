package streamhttp

import (
	"net/http"
	"strings"
)

// allowReading lets a page of an allowed origin read the answer. Without a
// configured origin no answer has a header of this kind. Credentials that a
// browser adds by itself are never asked for.
//
// Spec: WHATWG Fetch 3.3, CORS protocol
func (g *gate) allowReading(answer http.Header, r *http.Request) {
	if !g.anyOrigin && len(g.origins) == 0 {
		return
	}
	answer.Add(headerVary, headerOrigin)
	if origins := r.Header[headerOrigin]; len(origins) == 1 && g.allowed(origins[0], r) {
		answer.Set(headerCORSOrigin, origins[0])
		answer.Set(headerCORSExpose, HeaderSession)
	}
}

// preflight answers a browser that asks before it sends a request of a page of
// an allowed origin. It reports false for every other request.
func (g *gate) preflight(w http.ResponseWriter, r *http.Request, methods string) bool {
	h := w.Header()
	if r.Method != http.MethodOptions || h.Get(headerCORSOrigin) == "" || r.Header.Get(headerCORSRequestMethod) == "" {
		return false
	}
	h.Set(headerCORSMethods, methods)
	h.Set(headerCORSHeaders, strings.Join(requestedHeaders(r), ", "))
	h.Set(headerCORSMaxAge, "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// requestedHeaders returns which of the headers that a page wants to set it may.
func requestedHeaders(r *http.Request) []string {
	var granted []string
	for _, line := range r.Header[headerCORSRequestHeaders] {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); mayCrossOrigins(name) {
				granted = append(granted, name)
			}
		}
	}
	return granted
}
