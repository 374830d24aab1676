package jsonschema

import (
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	library "github.com/santhosh-tekuri/jsonschema/v6"
)

// documentURL is the URL of the schema in the library. It is hierarchical, so that a relative
// reference resolves to a different URL.
const documentURL = "schema://document/"

// node is one subschema with edges to the subschemas that it applies. It is used to compute
// the cost of a schema in advance; the library validates.
type node struct {
	at       string         // JSON Pointer in the document
	keys     map[string]any // nil for a boolean schema
	inPlace  []*node        // applied to the same value
	children                // applied to parts of the value
	pattern  *pattern
	work     int // cost of one application, without other nodes
	unique   bool

	// Set by the check of the bounds.
	visited visit
	paths   int // ways through inPlace edges, this node's own end included
	chain   int // longest of them
	total   int // work along all edges, unbounded for a recursive schema
}

// children are the edges of one node that lead to parts of a value.
type children struct {
	props        map[string]*node
	patternProps []patternProp
	otherProps   *node // additionalProperties
	anyProps     *node // unevaluatedProperties
	names        *node
	prefix       []*node
	items        []*node // taken to apply to all elements
}

type patternProp struct {
	*pattern
	node *node
}

// graph is a schema document as a graph of its subschemas.
type graph struct {
	limits   *Limits
	draft    *library.Draft
	root     *node
	order    []*node          // in document order
	nodes    map[string]*node // by JSON Pointer
	anchors  map[string]*node
	patterns map[string]*pattern
	base     *url.URL

	places   int // bytes of all JSON Pointers
	programs int // instructions of all patterns
	warnings []Warning
}

// newGraph walks a decoded schema. It removes patterns that cannot be checked from doc, with a
// warning for each, and refuses references outside the document.
func newGraph(doc any, limits *Limits) (*graph, error) {
	draft, err := dialectOf(doc)
	if err != nil {
		return nil, err
	}
	if !isSchema(doc) {
		return nil, fmt.Errorf("want an object, true or false")
	}
	g := &graph{
		limits: limits, draft: draft,
		nodes: map[string]*node{}, anchors: map[string]*node{}, patterns: map[string]*pattern{},
	}
	if g.root, err = g.add(doc, "", 1); err != nil {
		return nil, err
	}
	for _, n := range g.order {
		if err := g.link(n); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// add creates the nodes of the subschema v and of the subschemas inside it.
func (g *graph) add(v any, at string, depth int) (*node, error) {
	n := &node{at: at, work: 1}
	n.keys, _ = v.(map[string]any)
	g.nodes[at] = n
	g.order = append(g.order, n)
	if g.places += len(at); g.places > maxPlaces {
		return nil, fmt.Errorf("names of subschemas: more than %d bytes in all", maxPlaces)
	}
	if limit := g.limits.subschemas(); len(g.order) > limit {
		return nil, fmt.Errorf("more than %d subschemas", limit)
	}
	if limit := g.limits.depth(); depth > limit {
		return nil, fmt.Errorf("%ssubschemas nested deeper than %d", where(at), limit)
	}
	if err := g.identify(n); err != nil {
		return nil, fmt.Errorf("%s%w", where(at), err)
	}
	if err := g.takePatterns(n); err != nil {
		return nil, err
	}
	n.estimateWork()
	for _, p := range subschemas(n.keys) {
		sub, err := g.add(p.value, p.pointer(at), depth+1)
		if err != nil {
			return nil, err
		}
		n.attach(p, sub, g.patterns)
	}
	return n, nil
}

// identify reads the names by which a subschema can be referenced. It refuses a nested $id,
// which would start another document with another base for references.
func (g *graph) identify(n *node) error {
	if n.at != "" && n.keys["$schema"] != nil {
		if draft, err := dialectOf(n.keys); err != nil || draft != g.draft {
			return fmt.Errorf("$schema inside a schema: want one dialect per document")
		}
	}
	// The library knows $recursiveRef, which neither dialect has.
	delete(n.keys, "$recursiveRef")
	id, _ := n.keys["$id"].(string)
	own, fragment, _ := strings.Cut(id, "#")
	switch {
	case n.at != "" && own != "":
		return fmt.Errorf("$id %s inside a schema: want one document", Excerpt(id))
	case n.at == "":
		base, err := url.Parse(documentURL)
		if err == nil {
			base, err = base.Parse(own)
		}
		if err != nil {
			return fmt.Errorf("$id %s: want a URI", Excerpt(id))
		}
		g.base = base
	}
	names := []any{n.keys["$anchor"], n.keys["$dynamicAnchor"]}
	if g.draft == library.Draft7 {
		names = []any{fragment}
	}
	for _, name := range names {
		if name, ok := name.(string); ok && name != "" {
			g.anchors[name] = n
		}
	}
	return nil
}

// attach adds the edge from n to a subschema inside it.
func (n *node) attach(p place, sub *node, patterns map[string]*pattern) {
	switch p.keyword {
	case "properties":
		if n.props == nil {
			n.props = map[string]*node{}
		}
		n.props[p.name] = sub
	case "patternProperties":
		n.patternProps = append(n.patternProps, patternProp{patterns[p.name], sub})
	case "additionalProperties":
		n.otherProps = sub
	case "unevaluatedProperties":
		n.anyProps = sub
	case "propertyNames":
		n.names = sub
	case "prefixItems":
		n.prefix = append(n.prefix, sub)
	case "items":
		if p.form == listed {
			n.prefix = append(n.prefix, sub)
			return
		}
		n.items = append(n.items, sub)
	case "additionalItems", "contains", "unevaluatedItems":
		n.items = append(n.items, sub)
	default:
		if p.inPlace {
			n.inPlace = append(n.inPlace, sub)
		}
	}
}

// link adds the edges of the references of n, once every node is known.
func (g *graph) link(n *node) error {
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		ref, ok := n.keys[keyword].(string)
		if !ok {
			continue
		}
		target, err := g.resolve(ref)
		if err != nil {
			return fmt.Errorf("%s%s %s: %w", where(n.at), keyword, Excerpt(ref), err)
		}
		n.inPlace = append(n.inPlace, target)
	}
	return nil
}

// resolve finds the subschema that a reference names. As there is one document,
// $dynamicRef is as static as $ref.
//
// Spec: 2026-07-28 basic#json-schema-usage
func (g *graph) resolve(ref string) (*node, error) {
	address, fragment, _ := strings.Cut(ref, "#")
	target, err := g.base.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("want a URI reference")
	}
	if address != "" && target.String() != g.base.String() {
		return nil, fmt.Errorf("references outside the schema are not followed")
	}
	name, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, fmt.Errorf("want a URI reference")
	}
	n := g.anchors[name]
	if name == "" || name[0] == '/' {
		n = g.nodes[name]
	}
	if n == nil {
		return nil, fmt.Errorf("no subschema of that name here")
	}
	return n, nil
}

// estimateWork estimates the work of one application that depends on the size of n.
func (n *node) estimateWork() {
	n.unique, _ = n.keys["uniqueItems"].(bool)
	for _, keyword := range []string{"enum", "const", "required", "dependentRequired", "dependencies"} {
		if v, ok := n.keys[keyword]; ok {
			n.work += comparisons(v)
		}
	}
	if n.keys["$dynamicRef"] != nil {
		n.work += dynamicWork
	}
}

// comparisons estimates the work of comparing v with another value.
func comparisons(v any) int {
	count := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			count += comparisons(e)
		}
	case map[string]any:
		for _, e := range v {
			count += comparisons(e)
		}
	case string:
		count += len(v) / textSteps
	default:
		if _, ok := numberText(v); ok {
			count = numberWork
		}
	}
	return count
}

// edges yields every node that n leads to.
func (n *node) edges() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		groups := [][]*node{n.inPlace, slices.Collect(maps.Values(n.props)), n.prefix, n.items}
		for _, p := range n.patternProps {
			groups = append(groups, []*node{p.node})
		}
		groups = append(groups, []*node{n.otherProps, n.anyProps, n.names})
		for _, group := range groups {
			for _, next := range group {
				if next != nil && !yield(next) {
					return
				}
			}
		}
	}
}
