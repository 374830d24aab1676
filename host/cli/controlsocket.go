package cli

import (
	"net/http"
	"os"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/mcp"
)

// serveControl serves the control socket for other commands of the same user. Its path
// depends on the port. If it fails the host works without it.
func (h *hostProcess) serveControl(port int, endpoint string) {
	m := h.main
	listener, err := control.Listen(control.Path(control.Dir(m.getenv), port))
	if err != nil {
		m.message("%v", err)
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
			MCP:    asLocalUser(h.gateway.Server().HTTPHandler()),
		}),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	m.onClose(func() {
		_ = server.Close()
		<-ended
	})
}

// asLocalUser serves requests with the principal of the local user. Only that user can
// connect to the socket.
func asLocalUser(h http.Handler) http.Handler {
	user := &mcp.Identity{Principal: mcp.PrincipalLocal}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), user)))
	})
}
