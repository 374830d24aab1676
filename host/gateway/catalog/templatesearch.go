package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// parseTemplates parses the admitted templates.
func (c *Catalog) parseTemplates() {
	c.parsed, c.competing, c.unparsed = nil, nil, nil
	for i := range c.admitted.Templates {
		uriTemplate := c.admitted.Templates[i].URITemplate
		parsed, err := mcpserver.ParseURITemplate(uriTemplate)
		if err != nil {
			literal, _, _ := strings.Cut(uriTemplate, "{")
			c.unparsed = append(c.unparsed, literal)
			continue
		}
		c.parsed = append(c.parsed, parsed)
		if checkCompeting(uriTemplate) == nil {
			c.competing = append(c.competing, parsed)
		}
	}
}

func (c *Catalog) parsedTemplates() []*mcpserver.URITemplate    { return c.parsed }
func (c *Catalog) competingTemplates() []*mcpserver.URITemplate { return c.competing }

// mayExpandTo reports whether one of the templates that cannot be parsed may stand for a URI: it begins as the
// template does. Only its upstream knows more, so this decides about qualified URIs alone, which name it.
func (c *Catalog) mayExpandTo(uri string) bool {
	return slices.ContainsFunc(c.unparsed, func(literal string) bool { return strings.HasPrefix(uri, literal) })
}

// templateSearch is the search for templates that match URIs. It ends with the request for which it
// is, and when its work is used up: upstreams choose the templates and the URIs in results, and can
// have many of both.
type templateSearch struct {
	ctx  context.Context
	left int // work, see matchWork
}

// matchWork is the work to compare a URI with a template: the product of their lengths, which limits
// the time, and so much for each byte of the template that the number of templates counts, too.
func matchWork(t *mcpserver.URITemplate, uri string) int { return (64 + len(uri)) * len(t.String()) }

// ended reports whether the search has ended, so that a template that was not found may exist.
func (s *templateSearch) ended() bool { return s.left <= 0 || s.ctx.Err() != nil }

// finds reports whether one of some templates matches a URI.
func (s *templateSearch) finds(templates []*mcpserver.URITemplate, uri string) bool {
	for _, t := range templates {
		if s.ended() {
			return false
		}
		s.left -= matchWork(t, uri)
		if t.Matches(uri) {
			return true
		}
	}
	return false
}
