package catalog

import (
	"encoding/json/jsontext"
	"encoding/json/v2"

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
