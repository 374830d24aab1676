package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/registry"
)

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
