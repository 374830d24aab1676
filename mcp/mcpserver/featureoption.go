package mcpserver

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// Visible is the option that hides a feature from callers for which to returns false. A
// hidden feature is treated as unknown in lists, calls, reads, subscriptions and completion.
//
// who is the identity of the caller, with its scopes and claims. It must not be modified, and
// is never nil: a caller without one has the principal mcp.PrincipalAnonymous. The result of to
// must depend on the principal, scopes and claims alone and must not change for equal ones. to
// is called for every request, from several goroutines at once, and must be fast. Visible panics
// when to is nil.
func Visible(to func(who *mcp.Identity) bool) Option {
	if to == nil {
		panic("mcpserver.Visible: the function is nil; leave the option out to show the feature to all callers")
	}
	return visible(to)
}

// Title is the option that sets the name shown to users.
func Title(title string) Option { return titled(title) }

// Icons is the option that sets the icons shown to users. They are copied. Registration
// fails for an icon that Icon.Check refuses.
func Icons(icons ...mcp.Icon) Option { return withIcons(copyIcons(icons)) }

// Meta is the option that sets a member of the metadata (_meta) of a listed feature. The
// value is encoded at once, so later changes of it have no effect. Meta panics when the
// key is not valid or is reserved for the protocol, and when the value cannot be encoded.
func Meta(key string, value any) Option {
	m := make(mcp.Meta)
	if err := m.Set(key, value); err != nil {
		panic("mcpserver.Meta: " + err.Error())
	}
	if mcp.ReservedMetaKey(key) {
		panic(fmt.Sprintf("mcpserver.Meta: key %q is reserved for the protocol; want one with a prefix of your own, such as com.example/%s", key, "color"))
	}
	return withMeta{key, m}
}

// Option is an option of every kind of feature: a tool, a resource, a template
// or a prompt.
type Option interface {
	ToolOption
	ResourceOption
	PromptOption
}

type visible func(*mcp.Identity) bool

func (v visible) tool(t *tool)         { t.Visible = v }
func (v visible) resource(r *resource) { r.Visible = v }
func (v visible) prompt(p *prompt)     { p.Visible = v }

type titled string

func (t titled) tool(to *tool)        { to.def.Title = string(t) }
func (t titled) resource(r *resource) { r.def.Title = string(t) }
func (t titled) prompt(p *prompt)     { p.def.Title = string(t) }

type withIcons []mcp.Icon

func (i withIcons) tool(t *tool)         { t.def.Icons = i }
func (i withIcons) resource(r *resource) { r.def.Icons = i }
func (i withIcons) prompt(p *prompt)     { p.def.Icons = i }

type withMeta struct {
	key  string
	meta mcp.Meta
}

func (m withMeta) tool(t *tool)         { m.add(&t.def.Meta) }
func (m withMeta) resource(r *resource) { m.add(&r.def.Meta) }
func (m withMeta) prompt(p *prompt)     { m.add(&p.def.Meta) }

func (m withMeta) add(to *mcp.Meta) {
	if *to == nil {
		*to = make(mcp.Meta)
	}
	(*to)[m.key] = m.meta[m.key]
}

// Scopes is the option for the authorization of a feature by OAuth scopes: only callers
// that were granted all of them may call, get, read, subscribe to or complete it. Others
// are refused with CodeInsufficientScope, over HTTP with status 403 and a challenge that
// names the scopes; with Options.HideForbidden the feature is hidden from them instead.
// When the option is given several times, the scopes of all are required. Scopes panics
// when the list is empty and when a scope is not valid.
//
// A caller's scopes are those of the mcp.Identity that a handler in front of HTTPHandler
// has put into the context of the HTTP request. A request without an Identity is refused.
// The local user (stdio, sockets, memory) needs no scopes.
//
// Spec: 2026-07-28 basic/authorization#scope-challenge-handling; RFC 6749 3.3
func Scopes(scopes ...string) Option {
	if err := checkScopes(scopes); err != nil {
		panic("mcpserver.Scopes: " + err.Error())
	}
	return withScopes(scopes)
}

type withScopes []string

func (w withScopes) tool(t *tool) { w.add(&t.common) }

func (w withScopes) resource(r *resource) { w.add(&r.common) }

func (w withScopes) prompt(p *prompt) { w.add(&p.common) }

func (w withScopes) add(c *common) { c.Scopes = union(c.Scopes, w) }
