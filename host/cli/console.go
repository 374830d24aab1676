package cli

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/traffic"
)

// consoleSource is what the console in the browser shows of a host, and does to it.
type consoleSource struct {
	host      *hostProcess
	calls     console.Calls
	approvals *approvalQuestions // of which it only reads what waits; nil for the demonstration

	reading sync.Mutex          // held while what waits is read
	version string              // guarded by reading: that of pending
	read    time.Time           // guarded by reading: when pending was read
	pending []*approvalQuestion // guarded by reading
}

// newConsole returns the console of a host at its root URL, which may be reached under further names.
func (h *hostProcess) newConsole(base string, hosts []string) *console.Console {
	h.console.host = h
	c := console.New(console.Options{Base: base, Hosts: hosts, Source: &h.console})
	if h.questions != nil {
		h.questions.inBrowser.Store(c)
		h.console.approvals = newApprovalQuestions(h)
	}
	return c
}

// Servers implements console.Source.
func (s *consoleSource) Servers() []console.Server {
	statuses := s.host.gateway.Status()
	all, names := make([]console.Server, len(statuses)), make([]string, len(statuses))
	for i := range statuses {
		names[i] = statuses[i].Key
		all[i] = console.Server{Status: statuses[i], Command: s.host.mendingCommand(&statuses[i]), Calls: s.calls.Of(statuses[i].Key)}
	}
	s.calls.Keep(names)
	return all
}

// mendingCommand is what the user can type when a server is not ready, empty if nothing is known.
func (h *hostProcess) mendingCommand(s *host.Status) string {
	switch {
	case s.State == host.NeedsSignIn:
		return h.main.signInCommand(s.Key, h.config)
	case s.State == host.NeedsApproval, s.WaitingCount > 0:
		return h.main.approveCommand(s.Key, h.config)
	}
	return ""
}

// Messages implements console.Source.
func (s *consoleSource) Messages() []traffic.Message { return s.host.traffic.Messages() }

// Retry implements console.Source.
func (s *consoleSource) Retry(name string) bool { return s.host.gateway.Retry(name) }

// Restart implements console.Source. What starts again passes all checks of a start.
func (s *consoleSource) Restart(name string) error {
	s.host.reloading.Lock()
	defer s.host.reloading.Unlock()
	all := s.host.configured()
	remaining := slices.DeleteFunc(slices.Clone(all), func(u host.Upstream) bool { return u.Key == name })
	if len(remaining) == len(all) {
		return fmt.Errorf("server %q: %w", name, errUnknownServer)
	}
	s.host.gateway.Reload(remaining) // ends its connections and processes
	s.host.gateway.Reload(all)
	return nil
}

var errUnknownServer = errors.New("it is not in the configuration any more")
