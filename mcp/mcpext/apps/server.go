package apps

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Options are the options of Enable. Nil means the defaults.
type Options struct {
	// FlatKey repeats the link of a tool under the deprecated key, for hosts that only know that
	// one.
	FlatKey bool
}

func (o *Options) flatKey() bool { return o != nil && o.FlatKey }

// Apps are the interfaces of one server. Its methods may be called concurrently.
type Apps struct {
	srv *mcpserver.Server
	o   *Options

	mu        sync.Mutex
	documents map[string]bool // guarded by mu: by URI
}

// Enable adds the extension to a server, for revisions from 2025-06-18 on; in older ones tools have
// no metadata for the link. It panics if the server has the extension already.
func Enable(srv *mcpserver.Server, o *Options) *Apps {
	srv.Extend(mcpserver.Extension{ID: ID, Sessions: true})
	if o != nil {
		o = new(*o)
	}
	return &Apps{srv: srv, o: o, documents: make(map[string]bool)}
}

// Resource registers a document at a ui:// URI, with its metadata. The document has to be
// HTML5 and begin with the doctype. It should contain no data, because it gets the
// results of tools. Resource panics if an argument is invalid, or if the URI is registered
// already.
//
// Spec: ext-apps 2026-01-26#content-requirements
func (a *Apps) Resource(uri, name, html string, meta ResourceMeta, opts ...mcpserver.ResourceOption) {
	if err := checkDocument(uri, html, meta); err != nil {
		panic(fmt.Sprintf("apps: resource %q: %v", uri, err))
	}
	of := mcp.Meta{}
	if err := of.Set(metaKey, meta); err != nil {
		panic(fmt.Sprintf("apps: resource %q: %v", uri, err))
	}
	result := mcp.ResourceContents{URI: uri, MIMEType: MIMEType, Text: html, Meta: of}
	a.srv.AddResource(mcp.Resource{URI: uri, Name: name, MIMEType: MIMEType, Meta: of, Size: new(int64(len(html)))},
		func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{result}}, nil
		}, opts...)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.documents[uri] = true
}

func checkDocument(uri, html string, meta ResourceMeta) error {
	if err := checkURI(uri); err != nil {
		return err
	}
	const doctype = "<!doctype html"
	start := strings.TrimLeft(html, "\uFEFF \t\r\n")
	if len(start) < len(doctype) || !strings.EqualFold(start[:len(doctype)], doctype) {
		return fmt.Errorf("want an HTML5 document, which begins with %s>", doctype)
	}
	if _, refused := meta.CSP.Policy(); len(refused) > 0 {
		return fmt.Errorf("domains %q: want origins such as https://api.example.com", refused)
	}
	return nil
}

// Show is the option of a tool whose results the document shows. It panics if the document
// is not registered yet. The tool has to return content that is useful without the
// document; a result without content is an internal error.
//
// Spec: ext-apps 2026-01-26#resource-discovery
func (a *Apps) Show(uri string) mcpserver.ToolOption {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.documents[uri] {
		panic(fmt.Sprintf("apps: Show: document %q is not registered; want a call of Resource before", uri))
	}
	link := change(func(l *Link) { l.ResourceURI = uri })
	flat := mcpserver.Define(func(t *mcp.Tool) {
		if a.o.flatKey() {
			set(t, flatKey, uri)
		}
	})
	return mcpserver.ToolOptions(link, flat, mcpserver.Wrap(withContent))
}

// VisibleTo is the option that sets who may see and call a tool: App alone for calls that only a
// document makes, such as a refresh. It is no access control: only hosts with apps respect it.
func VisibleTo(who ...Visibility) mcpserver.ToolOption {
	if len(who) == 0 || slices.ContainsFunc(who, func(v Visibility) bool { return v != Model && v != App }) {
		panic("apps: VisibleTo: want Model, App or both")
	}
	return change(func(l *Link) { l.Visibility = who })
}

// change changes the link of a tool.
func change(f func(*Link)) mcpserver.ToolOption {
	return mcpserver.Define(func(t *mcp.Tool) {
		var l Link
		if _, err := t.Meta.Get(metaKey, &l); err != nil {
			panic("apps: " + err.Error())
		}
		f(&l)
		set(t, metaKey, l)
	})
}

func set(t *mcp.Tool, key string, value any) {
	m := make(mcp.Meta)
	for k, v := range t.Meta {
		m[k] = v
	}
	if err := m.Set(key, value); err != nil {
		panic("apps: " + err.Error())
	}
	t.Meta = m
}

// withContent returns an error for a result without content, which clients
// without apps could not use.
//
// Spec: ext-apps 2026-01-26#server-behavior
func withContent(next mcpserver.ToolHandler) mcpserver.ToolHandler {
	return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		result, err := next(ctx, p)
		if r, ok := result.(*mcp.CallToolResult); ok && err == nil && len(r.Content) == 0 {
			return nil, fmt.Errorf("tool %q: the result has no content; want some that makes sense without the document", p.Name)
		}
		return result, err
	}
}

// Supported reports whether the client of the call that ctx belongs to shows documents. If not, a
// handler can describe in text what the document would show.
func Supported(ctx context.Context) bool {
	r := mcpserver.From(ctx)
	if !r.Revision().HasFeatureMeta() {
		return false
	}
	settings, ok := r.Extension(ID)
	var s struct {
		MIMETypes []string `json:"mimeTypes"`
	}
	return ok && json.Unmarshal(settings, &s) == nil && slices.ContainsFunc(s.MIMETypes, isDocument)
}
