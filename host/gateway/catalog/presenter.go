package catalog

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// presenter turns the definitions of one upstream into what clients see: names and URIs that no other
// upstream has, no links to documents of others, and remarks in texts that imitate another one.
type presenter struct{ *SourceParams }

// toolEntry returns a tool as clients see it. It reports false for a tool that the rules deny
// or that the host cannot call. holder returns the key of the upstream that has a resource.
func (p presenter) toolEntry(t mcp.Tool, holder func(uri string) string, imitates imitationLookup, omitted omissions) (Entry[mcp.Tool], bool) {
	entry := Entry[mcp.Tool]{source: p.SourceParams, UpstreamName: t.Name, Definition: t, Listed: t, Verdict: p.Settings.Rules.Verdict(&t)}
	if entry.Verdict == host.Deny {
		return entry, false
	}
	if t.TaskSupport() == mcp.TaskRequired {
		omitted.add(p.Key, "tool %q: it must be called as a task, which the host does not support", t.Name)
		return entry, false
	}
	p.markTool(omitted, &entry.Definition, imitates)
	p.removeForeignLinks(&entry.Definition, holder, omitted)
	entry.Definition.Name, entry.Definition.Execution = host.WireName(p.Key, t.Name), nil
	return entry, true
}

// promptEntry returns a prompt as clients see it.
func (p presenter) promptEntry(prompt mcp.Prompt, imitates imitationLookup, omitted omissions) Entry[mcp.Prompt] {
	entry := Entry[mcp.Prompt]{source: p.SourceParams, UpstreamName: prompt.Name, Definition: prompt}
	p.markPrompt(omitted, &entry.Definition, imitates)
	entry.Definition.Name = host.WireName(p.Key, prompt.Name)
	return entry
}

// removeForeignLinks removes the links of a tool to documents of other upstreams: such a document
// would get the results of the tool, or the tool could choose what the document shows. holder returns
// the key of the upstream that has a document. A qualified URI is no link to a document.
func (p presenter) removeForeignLinks(t *mcp.Tool, holder func(uri string) string, omitted omissions) {
	foreign := func(raw jsontext.Value) bool {
		uri := textOf(raw)
		if uri == "" || !host.IsQualified(uri) && holder(uri) == p.Key {
			return false
		}
		omitted.add(p.Key, "tool %q: its link to the document %q is left out, which is one of another upstream", t.Name, uri)
		return true
	}
	members, _ := uiMembers(t)
	nested, flat := foreign(members[resourceURI]), foreign(t.Meta[metaFlatUI])
	if !nested && !flat {
		return
	}
	t.Meta = maps.Clone(t.Meta)
	if flat {
		delete(t.Meta, metaFlatUI)
	}
	if nested {
		delete(members, resourceURI)
		t.Meta[metaUI], _ = json.Marshal(members, json.Deterministic(true))
	}
}

// clientURI returns the URI or URI template that clients see for that of an upstream. If it is a
// qualified one, clientURI adds the reason to omitted. holder is the key of the upstream that has the
// plain one.
func (p presenter) clientURI(uri, holder, kind string, omitted omissions) string {
	if holder == p.Key && !host.IsQualified(uri) {
		return uri
	}
	qualified := host.QualifiedURI(p.Key, uri)
	if !host.IsQualified(uri) {
		omitted.add(p.Key, "%s %q: upstream %q has it already; clients see this one as %q", kind, uri, holder, qualified)
	}
	return qualified
}

// clientTemplate returns the URI template that clients see for that of an upstream. It is a qualified
// one if the plain one may not answer for URIs, or another upstream, the holder, has it.
func (p presenter) clientTemplate(uriTemplate, holder string, omitted omissions) string {
	if err := checkCompeting(uriTemplate); err != nil {
		qualified := host.QualifiedURI(p.Key, uriTemplate)
		omitted.add(p.Key, "template %q: %v; clients see it as %q", uriTemplate, err, qualified)
		return qualified
	}
	return p.clientURI(uriTemplate, holder, "template", omitted)
}

// featureTexts are the texts of a definition that clients show and models read. Nil stands for
// none.
type featureTexts struct{ name, title, description *string }

// markImitations adds a remark to the texts of a feature that imitate another upstream. The remark
// names the upstream that has written them.
func (p presenter) markImitations(omitted omissions, kind, name string, texts featureTexts, imitates imitationLookup) {
	imitated := ""
	for _, title := range []*string{texts.name, texts.title} {
		if title != nil && *title != "" {
			if key := imitates(*title, true); key != "" {
				*title += fmt.Sprintf(" (of the server %q, not of %q)", p.Key, key)
				imitated = key
			}
		}
	}
	if text := texts.description; *text != "" {
		if key := imitates(*text, false); key != "" {
			*text = fmt.Sprintf("(This is a text of the server %q, not of %q.) %s", p.Key, key, *text)
			imitated = key
		}
	}
	if imitated != "" {
		omitted.add(p.Key, "%s %q: its texts imitate the server %q; clients see a remark in them", kind, name, imitated)
	}
}

func (p presenter) markTool(omitted omissions, t *mcp.Tool, imitates imitationLookup) {
	name, texts := t.Name, featureTexts{title: &t.Title, description: &t.Description}
	if t.Annotations != nil {
		annotations := *t.Annotations
		t.Annotations, texts.name = &annotations, &annotations.Title
	}
	p.markImitations(omitted, "tool", name, texts, imitates)
}

func (p presenter) markPrompt(omitted omissions, prompt *mcp.Prompt, imitates imitationLookup) {
	p.markImitations(omitted, "prompt", prompt.Name, featureTexts{title: &prompt.Title, description: &prompt.Description}, imitates)
}

func (p presenter) markResource(omitted omissions, r *mcp.Resource, imitates imitationLookup) {
	p.markImitations(omitted, "resource", r.URI, featureTexts{&r.Name, &r.Title, &r.Description}, imitates)
}

func (p presenter) markTemplate(omitted omissions, t *mcp.ResourceTemplate, imitates imitationLookup) {
	p.markImitations(omitted, "template", t.URITemplate, featureTexts{&t.Name, &t.Title, &t.Description}, imitates)
}
