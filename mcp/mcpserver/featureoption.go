package mcpserver

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
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

func checkIcons(icons []mcp.Icon) error {
	for _, icon := range icons {
		if err := icon.Check(); err != nil {
			return err
		}
	}
	return nil
}

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

// common is what every kind of feature has.
type common struct {
	registry.Access
	completers  map[string]Completer
	completeAny RawCompleter // for arguments without a completer; may be nil
}

// Completes is a method of registry.Feature.
func (c *common) Completes() bool { return len(c.completers) > 0 || c.completeAny != nil }

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
