package httpserver

import (
	"net/http"
	"net/http/pprof"
	"net/netip"

	"github.com/fondaco/fondaco/host"
)

// Profiles returns the handler of the profiles of this process, below /debug/pprof/, without its command line. It serves
// requests under a name of the machine, and refuses those of web pages.
func Profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !host.IsLoopbackHost(r.Host):
			http.Error(w, "want a name of this machine, such as localhost", http.StatusForbidden)
		case isOfPage(r):
			http.Error(w, "this is not for web pages", http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// Metrics returns the handler of /metrics. It serves programs of this machine, under a name of the
// machine, and the networks of readers; it refuses requests of web pages.
func Metrics(metrics http.Handler, readers []netip.Prefix) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !mayConnect(readers, r.RemoteAddr):
			http.Error(w, "this address may not read the metrics; --behind-proxy names those that may", http.StatusForbidden)
		case senderOf(r.RemoteAddr).IsLoopback() && !host.IsLoopbackHost(r.Host):
			http.Error(w, "want a name of this machine, such as localhost", http.StatusForbidden)
		case isOfPage(r):
			http.Error(w, "this is not for web pages", http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// isOfPage reports whether the headers of a browser say that a page of another origin
// sent a request.
func isOfPage(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	return origin != "" && origin != "http://"+r.Host || site != "" && site != "none" && site != "same-origin"
}
