package catalog

import (
	"context"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// parseTemplates parses the admitted templates that can be used.
func (c *Catalog) parseTemplates() {
	c.parsed, c.competing = nil, nil
	for i := range c.admitted.Templates {
		uriTemplate := c.admitted.Templates[i].URITemplate
		parsed, err := mcpserver.ParseURITemplate(uriTemplate)
		if err != nil {
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
