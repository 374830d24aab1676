package streamhttp

import "net/http"

// maxHeaderFields is the largest number of header fields of a request, without Host. What
// browsers, clients and proxies send has fewer than fifty. Each costs memory beyond its bytes,
// so the limit of bytes of an http.Server alone allows thousands.
const maxHeaderFields = 100

var tooManyHeaders = refuse(http.StatusRequestHeaderFieldsTooLarge, "header of the request: want at most %d fields", maxHeaderFields)

// checkHeaderCount refuses a request with too many header fields. A field that is repeated
// counts each time.
func checkHeaderCount(h http.Header) *refusal {
	n := 0
	for _, values := range h {
		n += len(values)
	}
	if n > maxHeaderFields {
		return tooManyHeaders
	}
	return nil
}

// LimitHeaders returns a handler that refuses requests with too many header fields, and passes
// the others to next.
func LimitHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if writeRefusal(w, r, checkHeaderCount(r.Header)) {
			next.ServeHTTP(w, r)
		}
	})
}
