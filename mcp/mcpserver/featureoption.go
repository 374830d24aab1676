package mcpserver

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// Visible is the option that restricts who may know of a feature. What is hidden
// is the same as unknown: for lists, calls, reads and completion alike. The
// function must depend on the principal alone, and not on when it is asked; it
// runs at every request and has to be quick.
func Visible(to func(mcp.Principal) bool) Option {
	if to == nil {
		panic("mcpserver.Visible: the function is nil; leave the option out to show the feature to everybody")
	}
	return visible(to)
}

// Title is the option that sets the name shown to users.
func Title(title string) Option { return titled(title) }

// Icons is the option that sets the icons shown to users. A feature with an icon that
// Icon.Check refuses is not registered.
func Icons(icons ...mcp.Icon) Option { return withIcons(copyIcons(icons)) }

// Meta is the option that sets a member of the metadata of a listed feature. The
// value is encoded at once, so later changes of it have no effect. Meta panics when
// the key breaks the grammar or belongs to the protocol, or the value cannot be
// encoded.
func Meta(key string, value any) Option {
	m := make(mcp.Meta)
	if err := m.Set(key, value); err != nil {
		panic("mcpserver.Meta: " + err.Error())
	}
	if mcp.ReservedMetaKey(key) {
		panic(fmt.Sprintf("mcpserver.Meta: key %q belongs to the protocol; want one under a prefix of your own, such as com.example/%s", key, "color"))
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

type visible func(mcp.Principal) bool

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

func (w withScopes) tool(t *tool) { w.add(&t.common) }

func (w withScopes) resource(r *resource) { w.add(&r.common) }

func (w withScopes) prompt(p *prompt) { w.add(&p.common) }

func (w withScopes) add(c *common) { c.Scopes = union(c.Scopes, w) }
