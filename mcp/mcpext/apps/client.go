package apps

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Client returns the extension for mcpclient.Options.Extensions. It declares to
// servers that the client shows documents, so use it only in hosts that do.
//
// Spec: ext-apps 2026-01-26#clientserver-capability-negotiation
func Client() mcpclient.Extension {
	return mcpclient.Extension{ID: ID, Settings: jsontext.Value(`{"mimeTypes":["` + MIMEType + `"]}`), Sessions: true}
}

// HostOptions are the permissions and limits of a host. Nil gives the defaults.
type HostOptions struct {
	// Grant are the permissions that a document gets if it requests them.
	// Default: none.
	Grant Permissions
	// MaxHTML is the maximum size of a document, in bytes. Default: 4 MiB.
	MaxHTML int
}

func (o *HostOptions) orZero() *HostOptions {
	if o == nil {
		return new(HostOptions)
	}
	return o
}

func (o *HostOptions) maxHTML() int { return cmp.Or(o.orZero().MaxHTML, 4<<20) }

// Interfaces is a snapshot of the tools of one server and their documents. It
// is immutable and safe for concurrent use.
type Interfaces struct {
	c     *mcpclient.Client
	o     *HostOptions
	tools []mcp.Tool
	links map[string]Link // by tool
}

// Load lists the tools of the server that c is connected to. Call it again when
// the server announces that its tools changed.
//
// A tool with an invalid link is neither for the model nor for apps.
func Load(ctx context.Context, c *mcpclient.Client, o *HostOptions) (*Interfaces, error) {
	i := &Interfaces{c: c, o: new(*o.orZero()), links: make(map[string]Link)}
	for t, err := range c.Tools(ctx) {
		if err != nil {
			return nil, fmt.Errorf("apps: %w", err)
		}
		i.tools = append(i.tools, t)
		i.links[t.Name], _ = LinkOf(t)
	}
	return i, nil
}

// ModelTools returns the tools that the model may see.
//
// Spec: ext-apps 2026-01-26#visibility
func (i *Interfaces) ModelTools() []mcp.Tool {
	var tools []mcp.Tool
	for _, t := range i.tools {
		if i.links[t.Name].VisibleTo(Model) {
			tools = append(tools, t)
		}
	}
	return tools
}

// ErrNotForApps means that a document requested a call of a tool that is not
// for apps.
var ErrNotForApps = errors.New("the tool is not for documents of this server")

// Call calls a tool of the server at the request of one of its documents. For a
// tool that is not for apps the error is ErrNotForApps. Args must encode as a
// JSON object, or be nil.
//
// Spec: ext-apps 2026-01-26#visibility
func (i *Interfaces) Call(ctx context.Context, tool string, args any, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	if l, ok := i.links[tool]; !ok || !l.VisibleTo(App) {
		return nil, fmt.Errorf("call %q from a document: %w", tool, ErrNotForApps)
	}
	return i.c.CallTool(ctx, tool, args, opts...)
}

// View is a document with its policy and permissions.
type View struct {
	URI  string
	HTML string
	// Policy is the Content-Security-Policy of the document, and Refused the
	// declarations of the server that are not in the policy. A host should log
	// both.
	Policy  string
	Refused []string
	// Permissions are the permissions that the document requests and the host
	// grants.
	Permissions Permissions
	// Meta is the metadata of the document. Do not use the origins and
	// permissions in it, which are not checked; use Policy and Permissions.
	Meta ResourceMeta
}

// ErrNoView means that a tool has no document.
var ErrNoView = errors.New("the tool has no document")

// View reads the document that shows the results of a tool. If there is none, the error
// is ErrNoView. The response has to contain only the document of that URI, of MIMEType,
// in UTF-8 and within MaxHTML; otherwise View returns an error.
//
// Spec: ext-apps 2026-01-26#content-requirements
func (i *Interfaces) View(ctx context.Context, tool string) (*View, error) {
	uri := i.links[tool].ResourceURI
	if uri == "" {
		return nil, fmt.Errorf("view of tool %q: %w", tool, ErrNoView)
	}
	result, err := i.c.ReadResource(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("view of tool %q: %w", tool, err)
	}
	v, err := i.o.view(uri, result.Contents)
	if err != nil {
		return nil, fmt.Errorf("view of tool %q: document %q: %w", tool, uri, err)
	}
	return v, nil
}

// view returns the view of the contents of a resource.
func (o *HostOptions) view(uri string, contents []mcp.ResourceContents) (*View, error) {
	if len(contents) != 1 || contents[0].URI != uri {
		return nil, errors.New("found other contents, want those of the document alone")
	}
	c := contents[0]
	html := c.Text
	if c.IsBlob() {
		html = string(c.Blob)
	}
	v := &View{URI: uri, HTML: html}
	switch {
	case !isDocument(c.MIMEType):
		return nil, fmt.Errorf("MIME type %q: want %s", c.MIMEType, MIMEType)
	case len(html) > o.maxHTML():
		return nil, fmt.Errorf("found %d bytes, want at most %d", len(html), o.maxHTML())
	case html == "" || !utf8.ValidString(html):
		return nil, errors.New("want HTML in UTF-8")
	}
	if _, err := c.Meta.Get(metaKey, &v.Meta); err != nil {
		return nil, err
	}
	v.Policy, v.Refused = v.Meta.CSP.Policy()
	v.Permissions = v.Meta.Permissions.Intersect(o.orZero().Grant)
	return v, nil
}
