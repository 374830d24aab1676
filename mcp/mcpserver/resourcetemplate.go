package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

// Template registers a resource template: resources whose URIs match an RFC 6570 template.
// The values of the variables are stored in the fields of Vars with the same json names;
// every variable needs a field. Values that would lead out of their place in a path are
// refused, see [UncheckedVariables]. URIs that are equal to one that matches, with their scheme
// and host in another case or with other unreserved characters encoded, match with the same values.
// Otherwise Template does what Resource does.
func (s *Server) Template[Vars any](uriTemplate, name, mimeType string, read func(context.Context, Vars) ([]byte, error), opts ...ResourceOption) {
	if err := s.putTemplate(uriTemplate, name, mimeType, read, opts, false); err != nil {
		panic(fmt.Sprintf("template %q: %v", uriTemplate, err))
	}
}

// ReplaceTemplate registers a resource template as Template does, in place of the template
// with the same text, if there is one. The rules of ReplaceTool apply.
func (s *Server) ReplaceTemplate[Vars any](uriTemplate, name, mimeType string, read func(context.Context, Vars) ([]byte, error), opts ...ResourceOption) error {
	if err := s.putTemplate(uriTemplate, name, mimeType, read, opts, true); err != nil {
		return fmt.Errorf("template %q: %w", uriTemplate, err)
	}
	return nil
}

func (s *Server) putTemplate[Vars any](uriTemplate, name, mimeType string, read func(context.Context, Vars) ([]byte, error), opts []ResourceOption, replace bool) error {
	b, err := newBinder(reflect.TypeFor[Vars](), s.options.schemas())
	if err != nil {
		return err
	}
	h, err := templateHandler(b, uriTemplate, mimeType, read)
	if err != nil {
		return err
	}
	r := &resource{common: common{enums: b.completers()}, def: mcp.Resource{URI: uriTemplate, Name: name, MIMEType: mimeType}, read: h}
	return s.addTemplate(r, opts, replace)
}

// AddTemplate registers a resource template with its definition and a handler. Values are
// checked as in Template. It panics as Template does.
func (s *Server) AddTemplate(def mcp.ResourceTemplate, h ResourceHandler, opts ...ResourceOption) {
	if err := s.addTemplate(templateOf(def, h), opts, false); err != nil {
		panic(fmt.Sprintf("template %q: %v", def.URITemplate, err))
	}
}

// SetTemplate registers a resource template as AddTemplate does, in place of the template
// with the same text, if there is one. It returns the error that AddTemplate would panic
// with.
func (s *Server) SetTemplate(def mcp.ResourceTemplate, h ResourceHandler, opts ...ResourceOption) error {
	if err := s.addTemplate(templateOf(def, h), opts, true); err != nil {
		return fmt.Errorf("template %q: %w", def.URITemplate, err)
	}
	return nil
}

// RemoveTemplate removes a resource template and reports whether it was registered.
func (s *Server) RemoveTemplate(uriTemplate string) bool {
	return s.features.Remove(registry.Templates, uriTemplate)
}

// EnableTemplate enables or disables a resource template and reports whether that was a
// change. A disabled template is unknown to clients and matches no URI.
func (s *Server) EnableTemplate(uriTemplate string, on bool) bool {
	return s.features.Enable(registry.Templates, uriTemplate, on)
}

func (s *Server) addTemplate(r *resource, opts []ResourceOption, replace bool) error {
	if err := r.applyToTemplate(opts); err != nil {
		return err
	}
	if err := r.lister.check(r.template, s.options.schemas()); err != nil {
		return err
	}
	return s.putResource(registry.Templates, r, replace)
}

// applyToTemplate applies the options to a template, or returns what is wrong with it.
func (r *resource) applyToTemplate(opts []ResourceOption) error {
	template, notTemplate := uritemplate.Parse(r.def.URI)
	r.template = template
	err := r.apply(opts)
	if notTemplate != nil && !r.proxied {
		return notTemplate
	}
	return err
}

func templateOf(def mcp.ResourceTemplate, h ResourceHandler) *resource {
	return &resource{read: h, def: mcp.Resource{
		URI: def.URITemplate, Name: def.Name, Title: def.Title, Description: def.Description,
		MIMEType: def.MIMEType, Annotations: def.Annotations, Icons: def.Icons, Meta: def.Meta, Extra: def.Extra,
	}}
}

// templateHandler returns a handler that calls read with the variables of a template.
func templateHandler[Vars any](b *binder, text, mimeType string, read func(context.Context, Vars) ([]byte, error)) (ResourceHandler, error) {
	if read == nil {
		return nil, errors.New("the handler is nil")
	}
	t, err := uritemplate.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := b.covers(t.Vars()); err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		values, ok := t.Match(p.URI)
		if !ok {
			return nil, ErrNotFound
		}
		var vars Vars
		if err := b.bind(joinValues(values), &vars); err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "resource %q: %v", cleanText(p.URI, 128), err)
		}
		data, err := read(ctx, vars)
		return contentsOf(p.URI, mimeType, data), err
	}, nil
}

var templateListing = listing{registry.Templates, func(page []registry.Feature, next *string, hints mcp.Caching) any {
	r := &mcp.ListResourceTemplatesResult{NextCursor: next, Caching: hints, ResourceTemplates: make([]mcp.ResourceTemplate, len(page))}
	for i, f := range page {
		d := f.(*resource).def
		r.ResourceTemplates[i] = mcp.ResourceTemplate{
			URITemplate: d.URI, Name: d.Name, Title: d.Title, Description: d.Description,
			MIMEType: d.MIMEType, Annotations: d.Annotations, Icons: d.Icons, Meta: d.Meta, Extra: d.Extra,
		}
	}
	return r
}}

func (s *Server) listTemplates(_ context.Context, r *Request) (any, error) {
	return s.list(r, templateListing)
}

// joinValues returns the values of a matched template as strings. Lists are joined by
// commas, as in the URI.
func joinValues(values uritemplate.Values) map[string]string {
	out := make(map[string]string, len(values))
	for name, v := range values {
		out[name] = strings.Join(v.Strings(), ",")
	}
	return out
}
