package mcp

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Resource is the definition of a resource that a client can read.
//
// Spec: 2026-07-28 server/resources#resource
type Resource struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
	// Title is the name for users. DisplayName returns Name if it is empty.
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	MIMEType    string `json:"mimeType,omitzero"`
	// Size is the size in bytes of the resource itself, before any encoding, or
	// nil if it is unknown.
	Size        *int64       `json:"size,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Icons       []Icon       `json:"icons,omitzero"`
	Meta        Meta         `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// DisplayName returns the title, or the name if the title is empty.
func (r Resource) DisplayName() string { return cmp.Or(r.Title, r.Name) }

// ResourceTemplate describes a set of resources by a URI template.
//
// Spec: 2026-07-28 server/resources#resource-templates, RFC 6570
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	// Title is the name for users. DisplayName returns Name if it is empty.
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// MIMEType is the media type of all resources that match the template, or
	// empty.
	MIMEType    string       `json:"mimeType,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Icons       []Icon       `json:"icons,omitzero"`
	Meta        Meta         `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// DisplayName returns the title, or the name if the title is empty.
func (t ResourceTemplate) DisplayName() string { return cmp.Or(t.Title, t.Name) }

// ListResourcesResult is one page of resources.
type ListResourcesResult struct {
	ResultBase
	Caching
	Resources []Resource `json:"resources"`
	// NextCursor is the cursor of the next page; nil means that this page is the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// ListResourceTemplatesResult is one page of resource templates.
type ListResourceTemplatesResult struct {
	ResultBase
	Caching
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`
	// NextCursor is the cursor of the next page; nil means that this page is the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// ReadResourceParams are the params of resources/read.
type ReadResourceParams struct {
	URI string `json:"uri"`
	InputResponseParams
	Meta Meta `json:"_meta,omitempty"`
}

// ReadResourceResult holds the contents of a resource.
type ReadResourceResult struct {
	ResultBase
	Caching
	// Contents may have several elements, for example if the resource is a
	// directory.
	Contents []ResourceContents `json:"contents"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ResourceContents are the contents of a resource: text or bytes. They are
// bytes if Blob is not nil, even if it is empty; otherwise they are text, which
// may be empty. It is an error to encode or decode both text and bytes.
//
// Spec: 2026-07-28 server/resources#resource-contents
type ResourceContents struct {
	URI      string
	MIMEType string
	Text     string
	Blob     []byte
	Meta     Meta
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value
}

// NewResourceContents returns contents with a copy of data. They are a text when data
// is valid UTF-8 and mimeType is empty or a textual type, such as text/html,
// application/json or image/svg+xml; otherwise they are bytes.
func NewResourceContents(uri, mimeType string, data []byte) ResourceContents {
	c := ResourceContents{URI: uri, MIMEType: mimeType}
	if isText(mimeType) && utf8.Valid(data) {
		c.Text = string(data)
	} else {
		c.Blob = append([]byte{}, data...)
	}
	return c
}

// isText reports whether a MIME type is that of text.
func isText(mimeType string) bool {
	base, _, _ := strings.Cut(mimeType, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	switch base {
	case "", "application/json", "application/xml", "application/javascript", "application/yaml", "application/toml":
		return true
	}
	return strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+xml")
}

// IsBlob reports whether the contents are bytes and not text.
func (c ResourceContents) IsBlob() bool { return c.Blob != nil }

// wireContents is the JSON form of ResourceContents.
type wireContents struct {
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType,omitzero"`
	Text     *string        `json:"text,omitzero"`
	Blob     []byte         `json:"blob,omitzero"`
	Meta     Meta           `json:"_meta,omitempty"`
	Extra    jsontext.Value `json:",embed"`
}

// MarshalJSONTo writes exactly one of text and blob.
func (c ResourceContents) MarshalJSONTo(enc *jsontext.Encoder) error {
	wire := wireContents{c.URI, c.MIMEType, &c.Text, c.Blob, c.Meta, c.Extra}
	if c.IsBlob() {
		if c.Text != "" {
			return fmt.Errorf("resource contents %q: both text and blob are set, want one", c.URI)
		}
		wire.Text = nil
	}
	return json.MarshalEncode(enc, &wire)
}

// UnmarshalJSONFrom reads contents that have exactly one of text and blob.
func (c *ResourceContents) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var wire wireContents
	if err := json.UnmarshalDecode(dec, &wire); err != nil {
		return err
	}
	if (wire.Text == nil) == (wire.Blob == nil) {
		return fmt.Errorf("resource contents %q: want exactly one of text and blob", wire.URI)
	}
	*c = ResourceContents{URI: wire.URI, MIMEType: wire.MIMEType, Blob: wire.Blob, Meta: wire.Meta, Extra: wire.Extra}
	if wire.Text != nil {
		c.Text = *wire.Text
	}
	return nil
}
