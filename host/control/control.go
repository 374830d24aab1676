// Package control lets programs of the same user inspect and control a running host, over
// a Unix domain socket that only this user can reach. It is JSON over HTTP, beside the
// MCP endpoint that the command line uses:
//
//	GET  /status          what is running, a Status
//	POST /retry?key=NAME  connect now to an upstream that failed or was not approved
//	GET  /report          what the host knows for a report of a fault, without secrets
//	POST /record?dir=D&bytes=N&for=T  record the messages until the request ends, or for a time
//	POST /reload          read the configuration again
//	POST /revoked?name=N  end what was revoked in the user's state; what was ended for N, an Ended
//	POST /console         a link that opens the console, a Link
//	POST /answer          answer a question to a person, an Answer
//	POST /code?about=TEXT        show a person a code, without which another command does nothing
//	POST /code/check?about=TEXT  check such a code, which the header Fondaco-Code has
//	     /mcp             MCP over HTTP, for the local user
//	GET  /stdio           MCP with the framing of stdio, after an upgrade of the connection
//	GET  /stdio/outcome?stream=ID  how such a stream has ended; the upgrade has its id in Fondaco-Stream
package control

import (
	"context"
	"encoding/json/v2"
	"io"
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
	Config string `json:"config,omitzero"`
	// ConfigPath is the configuration in use. For the demonstration it is the path of the
	// user's own, which does not exist.
	ConfigPath    string        `json:"configPath,omitzero"`
	Demonstration bool          `json:"demonstration,omitzero"`
	Upstreams     []host.Status `json:"upstreams"`
}

// Ended counts what a host has ended because its credentials were revoked.
type Ended struct {
	Requests    int `json:"requests"`
	Sessions    int `json:"sessions"`
	Connections int `json:"connections"` // to upstreams, with their processes
}

// Link opens the console of a host in one browser, once.
type Link struct {
	URL string `json:"url"`
}

// Functions are what the socket gives access to.
type Functions struct {
	Status func() Status
	// Report returns what a report of a fault has of the host, without secrets, to be encoded as JSON.
	Report func() any
	// Record records the messages of the host until ctx is done or the time is over.
	Record func(ctx context.Context, r RecordRequest) error
	// Retry reports whether the upstream exists.
	Retry func(key string) bool
	// Reload returns what is wrong with the configuration, in which case nothing changes.
	Reload func() error
	// Revoked applies the list of what is revoked. It returns what was ended because a name was
	// revoked, and why the list cannot be applied.
	Revoked func(ctx context.Context, name string) (Ended, error)
	// ConsoleLink returns a link to the console; nil if the host has none.
	ConsoleLink func() string
	// Questions are about the questions to a person; nil if the host has none.
	Questions *QuestionFunctions
	// MCP is the endpoint for the local user.
	MCP http.Handler
	// ServeStream serves the local user over a connection with the framing of stdio, and
	// closes it. Its error says what was not answered, or why it has ended.
	ServeStream func(io.ReadWriteCloser) error
}

// Handler returns the HTTP handler of the socket.
func Handler(h Functions) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, h.Status(), json.Deterministic(true))
	})
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, h.Report(), json.Deterministic(true))
	})
	mux.HandleFunc("POST /record", func(w http.ResponseWriter, r *http.Request) {
		asked, err := recordRequestOf(r.URL.Query())
		if err == nil {
			err = h.Record(r.Context(), asked)
		}
		writeError(w, err)
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
	mux.HandleFunc("POST /revoked", func(w http.ResponseWriter, r *http.Request) {
		ended, err := h.Revoked(r.Context(), r.URL.Query().Get("name"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, ended)
	})
	if h.ConsoleLink != nil {
		mux.HandleFunc("POST /console", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.MarshalWrite(w, Link{h.ConsoleLink()})
		})
	}
	if h.Questions != nil {
		h.Questions.serve(mux)
	}
	mux.Handle("/mcp", h.MCP)
	s := &streams{serve: h.ServeStream, byID: make(map[string]*streamEnd)}
	mux.HandleFunc("GET "+streamPath, s.open)
	mux.HandleFunc("GET "+streamPath+"/outcome", s.outcome)
	return mux
}
