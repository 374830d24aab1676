package contest

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"runtime/debug"
)

// Handler serves h at /mcp, and the hooks with which the benchmarks measure the process:
// POST /admin/update calls update, which notifies the subscribers; POST /admin/gc runs the
// garbage collector; /debug/pprof/ serves profiles.
func Handler(h http.Handler, update func()) http.Handler {
	hooks := http.NewServeMux()
	hooks.HandleFunc("POST /admin/update", func(w http.ResponseWriter, _ *http.Request) {
		go update()
		w.WriteHeader(http.StatusNoContent)
	})
	hooks.HandleFunc("POST /admin/gc", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC()
		debug.FreeOSMemory()
		w.WriteHeader(http.StatusNoContent)
	})
	hooks.HandleFunc("/debug/pprof/", pprof.Index)
	hooks.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			h.ServeHTTP(w, r)
			return
		}
		hooks.ServeHTTP(w, r)
	})
}
