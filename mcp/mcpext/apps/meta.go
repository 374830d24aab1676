package apps

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// ID is the identifier of the extension.
const ID = "io.modelcontextprotocol/ui"

// MIMEType is the type of documents that a host shows.
const MIMEType = "text/html;profile=mcp-app"

// Keys of metadata.
const (
	metaKey = "ui"
	// flatKey is the deprecated metadata key for the link of a tool.
	flatKey = "ui/resourceUri"
)

// Visibility says who may see and call a tool.
type Visibility string

// The visibilities. The default is both.
const (
	// Model: the model.
	Model Visibility = "model"
	// App: documents of the same server, by way of the host.
	App Visibility = "app"
)

// Link is the link of a tool to its document.
//
// Spec: ext-apps 2026-01-26#resource-discovery
type Link struct {
	// ResourceURI is the document that shows results of the tool, or empty.
	ResourceURI string `json:"resourceUri,omitzero"`
	// Visibility is nil if the tool does not declare it.
	Visibility []Visibility `json:"visibility,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// VisibleTo reports whether the tool is for v.
func (l Link) VisibleTo(v Visibility) bool {
	return l.Visibility == nil || slices.Contains(l.Visibility, v)
}

// LinkOf returns the link of a tool, also from the deprecated key. It returns an error for an
// invalid link; such a tool should not be used at all.
func LinkOf(t mcp.Tool) (Link, error) {
	var l Link
	if _, err := t.Meta.Get(metaKey, &l); err != nil {
		return Link{Visibility: []Visibility{}}, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	if l.ResourceURI == "" {
		if _, err := t.Meta.Get(flatKey, &l.ResourceURI); err != nil {
			return Link{Visibility: []Visibility{}}, fmt.Errorf("tool %q: %w", t.Name, err)
		}
	}
	if l.ResourceURI == "" {
		return l, nil
	}
	if err := checkURI(l.ResourceURI); err != nil {
		return Link{Visibility: []Visibility{}}, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	return l, nil
}

// ResourceMeta declares the requirements of a document.
//
// Spec: ext-apps 2026-01-26#ui-resource-format
type ResourceMeta struct {
	// CSP holds the origins that the document needs. Nil is none.
	CSP *CSP `json:"csp,omitzero"`
	// Permissions are the requested browser permissions. The document must work
	// without them, too.
	Permissions Permissions `json:"permissions,omitzero"`
	// Domain requests a dedicated origin, in a form that each host defines.
	Domain string `json:"domain,omitzero"`
	// PrefersBorder requests a border, or none. If it is nil, the host chooses.
	PrefersBorder *bool `json:"prefersBorder,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// Permissions are features of a browser.
type Permissions struct {
	Camera, Microphone, Geolocation, ClipboardWrite bool
}

// wirePermissions are Permissions in the form of JSON: each present member requests a
// permission.
type wirePermissions struct {
	Camera         *struct{} `json:"camera,omitzero"`
	Microphone     *struct{} `json:"microphone,omitzero"`
	Geolocation    *struct{} `json:"geolocation,omitzero"`
	ClipboardWrite *struct{} `json:"clipboardWrite,omitzero"`
}

// MarshalJSONTo writes an empty object for each permission.
func (p Permissions) MarshalJSONTo(enc *jsontext.Encoder) error {
	asked := func(is bool) *struct{} {
		if is {
			return new(struct{}{})
		}
		return nil
	}
	return json.MarshalEncode(enc, &wirePermissions{asked(p.Camera), asked(p.Microphone), asked(p.Geolocation), asked(p.ClipboardWrite)})
}

// UnmarshalJSONFrom takes each member that is an object for a permission.
func (p *Permissions) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var wire wirePermissions
	if err := json.UnmarshalDecode(dec, &wire); err != nil {
		return err
	}
	*p = Permissions{wire.Camera != nil, wire.Microphone != nil, wire.Geolocation != nil, wire.ClipboardWrite != nil}
	return nil
}

// Intersect returns the permissions that p and q have in common.
func (p Permissions) Intersect(q Permissions) Permissions {
	return Permissions{
		p.Camera && q.Camera, p.Microphone && q.Microphone,
		p.Geolocation && q.Geolocation, p.ClipboardWrite && q.ClipboardWrite,
	}
}

// Allow returns the permissions as the allow attribute of an iframe.
//
// Spec: W3C Permissions Policy 9 (iframe allow)
func (p Permissions) Allow() string {
	var features []string
	for _, f := range []struct {
		has  bool
		name string
	}{{p.Camera, "camera"}, {p.Microphone, "microphone"}, {p.Geolocation, "geolocation"}, {p.ClipboardWrite, "clipboard-write"}} {
		if f.has {
			features = append(features, f.name)
		}
	}
	return strings.Join(features, "; ")
}

// checkURI returns an error if a URI is not that of a document.
func checkURI(uri string) error {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != metaKey || u.Host == "" || !strings.HasPrefix(uri, "ui://") {
		return fmt.Errorf("URI %q: want one such as ui://weather/map", uri)
	}
	return nil
}

// isDocument reports whether a MIME type equals MIMEType, in any spelling.
func isDocument(mimeType string) bool {
	base, params, err := mime.ParseMediaType(mimeType)
	return err == nil && base == "text/html" && params["profile"] == "mcp-app"
}
