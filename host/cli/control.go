package cli

import (
	"net/http"
	"os"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/mcp"
)

// serveControl lets the other verbs of the same user reach the host, at a socket
// that is named after the port. Without it the host works all the same.
func (h *hosting) serveControl(port int, endpoint string) {
	m := h.main
	listener, err := control.Listen(control.Path(control.Dir(m.lookup), port))
	if err != nil {
		m.say("%v", err)
		return
	}
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: control.Handler(control.Functions{
			Status: func() control.Status {
				return control.Status{Format: 1, Version: host.Version, PID: os.Getpid(), Endpoint: endpoint, Config: h.config, Upstreams: h.gateway.Status()}
			},
			Retry:  h.gateway.Retry,
			Reload: h.reload,
			MCP:    forLocalUser(h.gateway.Server().HTTPHandler()),
		}),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	m.closing(func() {
		_ = server.Close()
		<-ended
	})
}

// forLocalUser serves the user of this machine, who alone reaches a socket of the
// file system.
func forLocalUser(h http.Handler) http.Handler {
	user := &mcp.Identity{Principal: mcp.PrincipalLocal}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), user)))
	})
}
