package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

// Scopes is the option that lets a feature be used by those callers alone who were
// granted all of the scopes: called, got, read, watched and completed. Others are
// refused with CodeInsufficientScope, over HTTP with status 403 and a challenge that
// names the scopes. Options.HideForbidden hides the feature from them instead. When
// it is given more than once all are needed. It panics when a scope is none.
//
// Scopes are those of the mcp.Identity that a handler in front of HTTPHandler has put
// into the context of the request; without an Identity every request is refused. The user
// of this machine (stdio, sockets, memory) needs no scopes: what its credentials may do is
// up to the environment.
//
// Spec: 2026-07-28 basic/authorization#scope-challenge-handling; RFC 6749 3.3
func Scopes(scopes ...string) Option {
	if err := checkScopes(scopes); err != nil {
		panic("mcpserver.Scopes: " + err.Error())
	}
	return withScopes(scopes)
}

type withScopes []string

func (w withScopes) tool(t *tool)         { w.add(&t.common) }
func (w withScopes) resource(r *resource) { w.add(&r.common) }
func (w withScopes) prompt(p *prompt)     { w.add(&p.common) }

func (w withScopes) add(c *common) { c.Scopes = union(c.Scopes, w) }

// checkScopes returns what is wrong with a list of scopes.
func checkScopes(scopes []string) error {
	if len(scopes) == 0 {
		return fmt.Errorf("want at least one")
	}
	for _, scope := range scopes {
		bad := func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }
		if scope == "" || strings.ContainsFunc(scope, bad) {
			return fmt.Errorf("%q: want printable ASCII without blanks, quotes and backslashes, such as files:read", scope)
		}
	}
	return nil
}

// union returns all of both, each once. The first is not modified.
func union(scopes, more []string) []string {
	all := slices.Clip(scopes)
	for _, scope := range more {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// RequireScopes lets requests of a method through from those callers alone who were
// granted all of the scopes, besides those of what a request names; see Scopes. It
// panics when the server knows no request of that method, so those of Handle and
// Extend have to be there before.
func (s *Server) RequireScopes(method string, scopes ...string) {
	err := checkScopes(scopes)
	if err == nil {
		err = s.middleware.require(method, scopes)
	}
	if err != nil {
		panic(fmt.Sprintf("mcpserver: scopes of %q: %v", method, err))
	}
}

func (m *middleware) require(method string, scopes []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case strings.HasPrefix(method, "notifications/"):
		return fmt.Errorf("is a notification, which nobody could refuse; want a request")
	case m.plain[method] == nil && m.extended[method].owner == nil:
		return fmt.Errorf("no such method; want one that is served, such as %s", mcp.MethodToolsCall)
	}
	if m.needs == nil {
		m.needs = make(map[string][]string)
	}
	m.needs[method] = union(m.needs[method], scopes)
	m.publishLocked()
	return nil
}

// RequireScopes returns nil when the sender of the request was granted all of the
// scopes, and when it is the user of this machine; otherwise the error that Scopes
// has callers refused with, which a handler returns as it is. It is for scopes that
// depend on the arguments. The status and the challenge need an answer that has not
// become an event stream. Outside of a request it returns nil.
func (r *Request) RequireScopes(scopes ...string) error {
	if r == nil || registry.Granted(r.in.Identity, scopes) {
		return nil
	}
	return r.forbid(scopes)
}

// forbid returns the error of a request whose sender lacks scopes. Where no handler in
// front authenticates senders, no caller can have scopes: that is logged once.
func (r *Request) forbid(scopes []string) error {
	var challenge string
	switch who := r.in.Identity; {
	case who == nil && r.server.unprotected.CompareAndSwap(false, true):
		r.server.options.logger().Warn("a request was refused for its scopes, and nobody asks who sends it: want a handler in front that authenticates", "method", r.method)
	case who == nil:
	case who.Challenge != nil:
		challenge = who.Challenge(scopes)
	}
	return dialect.Forbid(r.method, scopes, challenge)
}
