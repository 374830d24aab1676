package gateway

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// Keys of the metadata of a tool that link to the document that shows its results: member
// resourceUri of "ui", and the deprecated flat key.
//
// Spec: ext-apps 2026-01-26#resource-discovery
const (
	metaUI      = "ui"
	metaFlatUI  = "ui/resourceUri"
	resourceURI = "resourceUri"
)

// documentLinks returns the URIs of the documents that a tool links to.
func documentLinks(t *mcp.Tool) (uris []string) {
	link, _ := uiMembers(t)
	for _, raw := range []jsontext.Value{link[resourceURI], t.Meta[metaFlatUI]} {
		if uri := textOf(raw); uri != "" {
			uris = append(uris, uri)
		}
	}
	return uris
}

// uiMembers returns the members of the metadata "ui" of a tool, and reports whether it is an object.
func uiMembers(t *mcp.Tool) (members map[string]jsontext.Value, ok bool) {
	if t.Meta[metaUI].Kind() != '{' {
		return nil, false
	}
	return members, json.Unmarshal(t.Meta[metaUI], &members) == nil
}

// textOf returns a JSON string, or "" for other JSON.
func textOf(raw jsontext.Value) (text string) {
	if raw.Kind() == '"' {
		_ = json.Unmarshal(raw, &text)
	}
	return text
}

// removeForeignLinks removes the links of a tool to documents of other upstreams: such a document
// would get the results of the tool, or the tool could choose what the document shows. holder returns
// the key of the upstream that has a document. A qualified URI is no link to a document.
func (u *upstream) removeForeignLinks(t *mcp.Tool, holder func(uri string) string, omitted omissions) {
	foreign := func(raw jsontext.Value) bool {
		uri := textOf(raw)
		if uri == "" || !host.IsQualified(uri) && holder(uri) == u.Key {
			return false
		}
		omitted.add(u, "tool %q: its link to the document %q is left out, which is one of another upstream", t.Name, uri)
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
