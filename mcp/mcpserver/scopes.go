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

// union returns the scopes of both lists without duplicates. It does not modify them.
func union(scopes, more []string) []string {
	all := slices.Clip(scopes)
	for _, scope := range more {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// RequireScopes requires OAuth scopes for all requests of a method, in addition to the
// scopes of the feature that a request names; see [Scopes]. It panics when a scope is not
// valid and when the server has no request of that method: call it after the Handle or
// Extend that adds the method. It is safe for concurrent use.
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
		return fmt.Errorf("is a notification, which cannot be refused; want a request")
	case m.handlers[method] == nil && m.extended[method].owner == nil:
		return fmt.Errorf("the server has no such method; want one such as %s", mcp.MethodToolsCall)
	}
	if m.methodScopes == nil {
		m.methodScopes = make(map[string][]string)
	}
	m.methodScopes[method] = union(m.methodScopes[method], scopes)
	m.publishLocked()
	return nil
}

// RequireScopes returns nil when the sender of the request was granted all of the scopes
// or is the local user, and otherwise the error of [Scopes], which the handler should
// return as it is. Use it for scopes that depend on the arguments. The HTTP status and the
// challenge are sent only if the response has not become an event stream before. It
// returns nil when r is nil.
func (r *Request) RequireScopes(scopes ...string) error {
	if r == nil || registry.Granted(r.in.Identity, scopes) {
		return nil
	}
	return r.forbid(scopes)
}

// forbid returns the error of a request whose sender lacks scopes. If no handler
// authenticates requests, no caller can have scopes: the first such request is logged.
func (r *Request) forbid(scopes []string) error {
	var challenge string
	switch who := r.in.Identity; {
	case who == nil && r.server.warnedNoAuth.CompareAndSwap(false, true):
		r.server.options.logger().Warn("a request was refused because it lacks scopes, but no handler authenticates requests: want one in front of HTTPHandler", "method", r.method)
	case who == nil:
	case who.Challenge != nil:
		challenge = who.Challenge(scopes)
	}
	return dialect.Forbid(r.method, scopes, challenge)
}
