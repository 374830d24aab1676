// Package control lets programs of the same user inspect and control a running host, over
// a Unix domain socket that only this user can reach. It is JSON over HTTP, beside the
// MCP endpoint that the command line uses:
//
//	GET  /status          what is running, a Status
//	POST /retry?key=NAME  connect now to an upstream that failed or was not approved
//	POST /reload          read the configuration again
//	     /mcp             MCP, for the local user
package control

import (
	"encoding/json/v2"
	"net/http"

	"github.com/fondaco/fondaco/host"
)

// Status is the status of a host.
type Status struct {
	// Format is the version of this format. New members do not change it.
	Format  int    `json:"format"`
	Version string `json:"version"` // of the host
	PID     int    `json:"pid"`
	// Endpoint is the URL for clients, empty if the host has none.
	Endpoint string `json:"endpoint,omitzero"`
	// Config is the file given by --config, empty for the user's own.
	Config    string        `json:"config,omitzero"`
	Upstreams []host.Status `json:"upstreams"`
}

// Functions are what the socket gives access to.
type Functions struct {
	Status func() Status
	// Retry reports whether the upstream exists.
	Retry func(key string) bool
	// Reload returns what is wrong with the configuration, in which case nothing changes.
	Reload func() error
	// MCP is the endpoint for the local user.
	MCP http.Handler
}

// Handler returns the HTTP handler of the socket.
func Handler(h Functions) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, h.Status(), json.Deterministic(true))
	})
	mux.HandleFunc("POST /retry", func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Query().Get("key")
		if !h.Retry(key) {
			http.Error(w, "no upstream has that name", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := h.Reload(); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.Handle("/mcp", h.MCP)
	return mux
}
