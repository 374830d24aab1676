package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// maxBranches limits how deep the tree of resources is. What is deeper is in one name.
	maxBranches = 8
	// maxOpenResources limits the resources of a tree that is open at first.
	maxOpenResources = 100
)

// branch is a part of the URIs of resources: one that others are below, or a resource, or both.
type branch struct {
	// Name is what the URI has here.
	Name string
	// URI and Title are those of the resource. URI is empty if there is none here.
	URI, Title string
	Branches   []*branch
	// Count is the number of resources below.
	Count int
	// Open: the branches are shown at first.
	Open bool

	byName map[string]*branch // those without a resource
}

// newTreeOfResources returns a tree of resources by their URIs, in the order of the list, or nil for none.
func newTreeOfResources(all []mcp.Resource) *branch {
	if len(all) == 0 {
		return nil
	}
	root := new(branch)
	for _, one := range all {
		at := root
		names := splitURI(one.URI)
		for _, name := range names[:len(names)-1] {
			at = at.below(name)
		}
		at.Branches = append(at.Branches, &branch{Name: names[len(names)-1], URI: one.URI, Title: one.Name})
	}
	root.finish(len(all) <= maxOpenResources)
	return root
}

// splitURI returns the parts of a URI: its scheme and authority, each directory, and the rest. Together they are the URI.
func splitURI(uri string) (names []string) {
	rest := uri
	if _, after, ok := strings.Cut(uri, "://"); ok {
		authority, _, hasPath := strings.Cut(after, "/")
		if !hasPath {
			return []string{uri}
		}
		end := len(uri) - len(after) + len(authority) + 1
		names, rest = append(names, uri[:end]), uri[end:]
	}
	for len(names) < maxBranches {
		name, after, ok := strings.Cut(rest, "/")
		if !ok || after == "" {
			break
		}
		names, rest = append(names, name+"/"), after
	}
	return append(names, rest)
}

// below returns the branch of a name, which is made if there is none.
func (b *branch) below(name string) *branch {
	one := b.byName[name]
	if one == nil {
		if b.byName == nil {
			b.byName = make(map[string]*branch)
		}
		one = &branch{Name: name}
		b.byName[name] = one
		b.Branches = append(b.Branches, one)
	}
	return one
}

// finish counts the resources, and joins a branch with the only one below.
func (b *branch) finish(open bool) int {
	b.Open = open
	for i, one := range b.Branches {
		for one.URI == "" && len(one.Branches) == 1 {
			one.Branches[0].Name = one.Name + one.Branches[0].Name
			one = one.Branches[0]
		}
		b.Branches[i] = one
		b.Count += one.finish(open)
	}
	if b.URI != "" {
		b.Count = 1
	}
	return b.Count
}

// resource reads a resource. It is a POST, because a server may do anything in a read.
func (c *Console) resource(w http.ResponseWriter, r *http.Request, s *session) {
	t := &tryView{Name: r.PostForm.Get("uri"), Revision: revisions[0]}
	v := &view{Title: t.Name, Section: "try", Still: true, Data: t}
	c.read(r, s, v, t.Name)
	c.show(w, s, "resource", v)
}

// read reads a resource, and adds the result to the page.
func (c *Console) read(r *http.Request, s *session, v *view, uri string) {
	t := v.Data.(*tryView)
	request, started := &Request{URI: uri, Revision: t.Revision}, time.Now()
	result, err := c.source.Read(r.Context(), request)
	if err != nil {
		v.Message, v.Failed = shown(err.Error()), true
		return
	}
	t.Result = c.newResult(r.Context(), request, started)
	t.Result.Blocks = c.resultOf(s, embedded(result))
}

func embedded(result *mcp.ReadResourceResult) (contents []mcp.Content) {
	for _, one := range result.Contents {
		contents = append(contents, mcp.Embed(one))
	}
	return contents
}

// template shows the form of a resource template and, for a POST, reads the resource of its variables.
func (c *Console) template(w http.ResponseWriter, r *http.Request, s *session) {
	text := r.URL.Query().Get("uri")
	surface, err := c.source.Surface(r.Context())
	if err != nil {
		surface = new(mcp.Surface)
	}
	i := slices.IndexFunc(surface.Templates, func(t mcp.ResourceTemplate) bool { return t.URITemplate == text })
	if i < 0 {
		c.showTry(w, r, s, &view{Message: "There is no resource template \"" + shown(text) + "\" now.", Failed: true})
		return
	}
	t := &tryView{Name: text, Verb: "Read", Description: surface.Templates[i].Description, HasForm: true}
	t.chooseRevision(r)
	v := &view{Title: text, Section: "try", Still: true, Data: t}
	names, err := c.source.TemplateVariables(text)
	if err != nil {
		v.Message, v.Failed = shown(err.Error()), true
	}
	for _, name := range names {
		t.Fields = append(t.Fields, suggestField(name, "", false))
	}
	if r.Method == http.MethodPost && err == nil && !c.assist(r, t, mcp.ResourceRef(text), v) {
		if t.URI, err = c.source.ExpandTemplate(text, valuesOf(t.Fields)); err != nil {
			v.Message, v.Failed = shown(err.Error()), true
		} else {
			c.read(r, s, v, t.URI)
		}
	}
	c.show(w, s, "tool", v)
}
