package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/fondaco/fondaco/host"
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
	web := &http.Server{Handler: profiles(), ReadHeaderTimeout: 10 * time.Second}
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
	m.Message("profiles of this process: %s/debug/pprof/", baseURL(listener.Addr()))
}

// profiles returns the handlers of package net/http/pprof. They refuse requests of web
// pages.
func profiles() http.Handler {
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

// isOfPage reports whether the headers of a browser say that a page of another origin
// sent a request.
func isOfPage(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	return origin != "" && origin != "http://"+r.Host || site != "" && site != "none" && site != "same-origin"
}
