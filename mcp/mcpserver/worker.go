package mcpserver

import (
	"context"
	"fmt"
	"sync"
)

// workers run the Worker functions of extensions, from when the server serves and has a tool
// with the option Durable.
type workers struct {
	mu      sync.Mutex
	serving bool            // guarded by mu
	durable map[string]bool // guarded by mu: names of tools that had the option when they were registered last
	started map[string]bool // guarded by mu: by ID of the extension
}

func (w *workers) hasDurable(tool string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.durable[tool]
}

// setDurable records whether a tool has the option Durable.
func (w *workers) setDurable(tool string, durable bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if durable && w.durable == nil {
		w.durable = make(map[string]bool)
	}
	if durable {
		w.durable[tool] = true
		return
	}
	delete(w.durable, tool)
}

// starts returns those of the extensions whose workers are to be started now.
func (w *workers) starts(all []*Extension) (now []*Extension) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.serving || len(w.durable) == 0 {
		return nil
	}
	for _, e := range all {
		if e.Worker == nil || w.started[e.ID] {
			continue
		}
		if w.started == nil {
			w.started = make(map[string]bool)
		}
		w.started[e.ID] = true
		now = append(now, e)
	}
	return now
}

// serve starts the workers, unless that has happened. It is called when the server begins to
// serve.
func (s *Server) serve() {
	s.workers.mu.Lock()
	s.workers.serving = true
	s.workers.mu.Unlock()
	s.startWorkers()
}

// startWorkers starts the workers that have not been started, if the server serves and has a
// tool with the option Durable. Shutdown waits for them.
func (s *Server) startWorkers() {
	for _, e := range s.workers.starts(s.extensions.sorted()) {
		s.detached.Go(func() { s.work(s.open, e) })
	}
}

// work runs the worker of an extension until ctx ends. A panic is logged.
func (s *Server) work(ctx context.Context, e *Extension) {
	s.runLogged(ctx, "Worker of extension "+e.ID, func() error { e.Worker(ctx); return nil })
}

// RunWorker runs the Worker of an extension until ctx ends, which returns nil, or a shutdown
// begins, which returns ErrShutdown. It is for processes that serve nobody: a server that serves
// runs it by itself, if it has a tool with the option [Durable].
func (s *Server) RunWorker(ctx context.Context, id string) error {
	e := s.extensions.of(id)
	if e == nil || e.Worker == nil {
		return fmt.Errorf("run worker: extension %q has none on this server; want one that was added and has a Worker", id)
	}
	if !s.detached.Enter() {
		return ErrShutdown
	}
	defer s.detached.Leave()
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.open, func() { cancel(ErrShutdown) })()
	s.work(working, e)
	if s.open.Err() != nil {
		return ErrShutdown
	}
	return nil
}
