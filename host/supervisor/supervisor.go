// Package supervisor keeps the servers of a configuration running as its file, the managed policy and the decisions of
// the user say, also when these change. The gateway has the connections; what is here says which servers it gets.
//
//	Load, Reload   the file ─ policy ─▶ Servers ─ without those that are off ─▶ gateway
//	Admit          policy ─ fondaco.lock ─ Decisions.Admit ─ fondaco.lock ─ policy ─▶ what is started
//	Watch          the file or the policy has changed ─▶ Reload
//	               approvals, definitions or sign-ins have changed ─▶ end what is revoked, retry what waits
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/policy"
)

// ErrUnknownServer reports that a server is not in the configuration any more.
var ErrUnknownServer = errors.New("it is not in the configuration any more")

// Options of a Supervisor.
type Options struct {
	// Path is the file of the configuration. Empty: the servers are those of Use, and do not change.
	Path string
	// Only is the key of the one server that is wanted. Empty, or not in the file: all servers.
	Only string
	// Read reads the servers of the file, and shows what is wrong in it. A host that runs reads the file again, and
	// asks nobody for anything. Required with a Path.
	Read func(again bool) ([]host.Upstream, error)
	// Policy is the managed policy, nil for none, and PolicyVersion the version of its file when it was read.
	Policy        *policy.Policy
	PolicyPath    string
	PolicyVersion FileVersion
	// ReadPolicy reads the managed policy again. Required with a Path.
	ReadPolicy func() (*policy.Policy, error)
	// Decisions are those of the user. Required by Admit and Watch.
	Decisions Decisions
	// OnRead gets the servers that Reload has read, before one of them is started. Optional.
	OnRead func([]host.Upstream)
	// OnReplaced gets the servers that the gateway runs from now on. Optional.
	OnReplaced func([]host.Upstream)
	// OnDenied is called after Reload has applied the policy. Optional.
	OnDenied func()
	// Message shows a text to the user. Required with a Path.
	Message func(format string, args ...any)
}

// Decisions are what the user has decided about servers. All methods are safe for concurrent use.
type Decisions interface {
	// Admit returns a server as it is started or reached, if it is approved.
	Admit(ctx context.Context, u *host.Upstream) (*host.Upstream, error)
	// IsRevoked reports whether the approval of a server was taken back.
	IsRevoked(ctx context.Context, u *host.Upstream) bool
	// LacksScopes reports whether the last sign-in at a server has not requested scopes that a refused call has
	// lacked.
	LacksScopes(ctx context.Context, admitted *host.Upstream) bool
	// Versions identify the decisions as they are now.
	Versions() Versions
}

// Versions identify decisions: another text means other decisions.
type Versions struct{ Approvals, Definitions, SignIns string }

// Denial is a server that the managed policy denies.
type Denial struct {
	Key string
	Err error
}

// Supervisor keeps the servers of one configuration running. It is safe for concurrent use after SetGateway. The zero
// value has no servers.
type Supervisor struct {
	opts    Options
	gateway *gateway.Gateway // nil if nothing runs

	reloading sync.Mutex // held while the upstreams of the gateway are replaced

	mu        sync.Mutex
	version   FileVersion          // guarded by mu: of the configuration when it was last read
	upstreams []host.Upstream      // guarded by mu
	allowed   []host.Upstream      // guarded by mu: those that the policy of now allows; none while it cannot be read
	off       map[string]bool      // guarded by mu: those that the user has switched off
	policy    *policy.Policy       // guarded by mu; nil without a managed policy
	denied    []Denial             // guarded by mu: what it denies of the configuration
	allDenied bool                 // guarded by mu: it denies every server of the configuration
	admitted  map[string]admission // guarded by mu: the last start of each, by key
}

// New returns a supervisor. It has no servers before Load or Use.
func New(o Options) *Supervisor {
	return &Supervisor{opts: o, policy: o.Policy, admitted: make(map[string]admission)}
}

// Use makes servers that are in no file, or were read before, those of the supervisor.
func (s *Supervisor) Use(servers []host.Upstream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.upstreams, s.allowed = servers, servers
}

// SetGateway sets the gateway that runs the servers. It must have been created with Servers.
func (s *Supervisor) SetGateway(g *gateway.Gateway) { s.gateway = g }

// Servers returns the servers as they were read last, also those that are switched off. They must not be changed.
func (s *Supervisor) Servers() []host.Upstream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.upstreams
}

// Server returns one of the servers. The error wraps ErrUnknownServer.
func (s *Supervisor) Server(key string) (*host.Upstream, error) {
	all := s.Servers()
	i := slices.IndexFunc(all, func(u host.Upstream) bool { return u.Key == key })
	if i < 0 {
		return nil, fmt.Errorf("server %q: %w", key, ErrUnknownServer)
	}
	return &all[i], nil
}

// Policy returns the managed policy that holds now, nil for none.
func (s *Supervisor) Policy() *policy.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy
}

// Denied returns the servers of the configuration that the policy denies, and whether these are all of it.
func (s *Supervisor) Denied() (denied []Denial, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied, s.allDenied
}
