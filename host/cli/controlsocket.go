package cli

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/httpserver"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// serveControl serves the control socket for other commands of the same user. Its path
// depends on the port. If it fails the host works without it.
func (h *hostProcess) serveControl(port int, endpoint string, consoleLink func() string) {
	m := h.main
	listener, err := control.Listen(control.Path(control.Dir(m.Getenv), port), m.logger())
	if err != nil {
		m.Message("%v; commands and \"fondaco stdio\" do not find this host", err)
		return
	}
	streams := newLocalStreams(h.gateway.Server())
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: control.Handler(control.Functions{
			Questions:   h.questions.functions(),
			Status:      func() control.Status { return h.controlStatus(endpoint) },
			Report:      func() any { return h.report() },
			Record:      h.recordUntil,
			Retry:       h.gateway.Retry,
			ConsoleLink: consoleLink,
			Reload:      h.servers.Reload,
			Revoked:     h.revoked.EndedFor,
			MCP:         httpserver.AsLocalUser(h.gateway.Server().HTTPHandler()),
			ServeStream: streams.serve,
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
		streams.close()
	})
}

func (h *hostProcess) controlStatus(endpoint string) control.Status {
	return control.Status{
		Format: 1, Version: host.Version, PID: os.Getpid(), Endpoint: endpoint,
		Config: h.config, ConfigPath: h.identifyingPath(), Demonstration: h.path == "",
		Upstreams: h.statuses(),
	}
}

// identifyingPath is the path by which another command recognizes a host of the same
// configuration. That of the demonstration is the file that the user does not have yet.
func (h *hostProcess) identifyingPath() string {
	return cmp.Or(h.path, config.DefaultPath(h.main.Getenv))
}

// localStreams are the open connections of "fondaco stdio". Each is a session of its own.
type localStreams struct {
	server *mcpserver.Server
	ctx    context.Context // ends when no more are served
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool // guarded by mu
	open   sync.WaitGroup
}

func newLocalStreams(server *mcpserver.Server) *localStreams {
	s := &localStreams{server: server}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// serve serves the local user over a connection until it ends.
func (s *localStreams) serve(stream io.ReadWriteCloser) error {
	if !s.begin() {
		return cmp.Or(stream.Close(), mcpserver.ErrShutdown)
	}
	defer s.open.Done()
	return s.server.ServeStream(s.ctx, stream)
}

func (s *localStreams) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open.Add(1)
	return true
}

// close ends the connections.
func (s *localStreams) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.open.Wait()
}
