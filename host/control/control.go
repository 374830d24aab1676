// Package control lets programs of the same user look at a running host and tell
// it what to do, over a socket that nobody else can reach: JSON over HTTP, and
// beside it the MCP endpoint for verbs of the command line.
//
//	GET  /status          what is running, a Status
//	POST /retry?key=NAME  start an upstream now that has failed or was not approved
//	POST /reload          read the configuration again
//	     /mcp             MCP, for the local user
package control

import (
	"encoding/json/v2"
	"net/http"

	"github.com/fondaco/fondaco/host"
)

// Status is what a host tells of itself.
type Status struct {
	// Format is the version of this form. What is added later does not change it.
	Format  int    `json:"format"`
	Version string `json:"version"` // of the host
	PID     int    `json:"pid"`
	// Endpoint is the URL for clients, or empty where there is none.
	Endpoint string `json:"endpoint,omitzero"`
	// Config is the file that the host was given, or empty for the user's own.
	Config    string        `json:"config,omitzero"`
	Upstreams []host.Status `json:"upstreams"`
}

// Host is what the socket gives access to.
type Host struct {
	Status func() Status
	// Retry reports whether there is an upstream of that key.
	Retry func(key string) bool
	// Reload returns what is wrong with the configuration, which then stays as it
	// was.
	Reload func() error
	// MCP is the endpoint for the local user.
	MCP http.Handler
}

// Handler returns the handler of the socket.
func Handler(h Host) http.Handler {
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
