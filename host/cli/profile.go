package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/host/httpserver"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

// listenForProfiles listens on a loopback address until Close. It returns nil without an
// address.
func (m *Main) listenForProfiles(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, usagef("--pprof %q: want HOST:PORT, such as 127.0.0.1:6060", addr)
	}
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, usagef("--pprof %q: %w", addr, err)
	}
	if !resolved.IP.IsLoopback() {
		return nil, usagef("--pprof %s: other machines could reach it; want a loopback address such as 127.0.0.1:6060", addr)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("--pprof: %w", err)
	}
	m.onClose(func() { _ = listener.Close() })
	return listener, nil
}

// serveProfiles serves profiles of this process until Close. Requests to the server are
// labelled in them.
func (m *Main) serveProfiles(listener net.Listener, of *mcpserver.Server) {
	of.Use(mcpware.ProfileLabels())
	web := &http.Server{Handler: httpserver.Profiles(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			m.Message("profiles: server stopped: %v", err)
		}
	}()
	m.onClose(func() {
		_ = web.Close()
		<-ended
	})
	m.Message("profiles of this process: %s/debug/pprof/", httpserver.BaseURL(listener.Addr()))
}
