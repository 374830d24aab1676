package mcpserver

import "github.com/fondaco/fondaco/mcp/internal/uritemplate"

// URITemplate is a parsed URI template, as those of resource templates are. It is immutable and safe
// for concurrent use.
type URITemplate struct{ parsed *uritemplate.Template }

// ParseURITemplate parses a URI template of at most 8 KiB and 64 variables. The error says what is
// wrong, and where.
//
// Spec: RFC 6570
func ParseURITemplate(text string) (*URITemplate, error) {
	parsed, err := uritemplate.Parse(text)
	if err != nil {
		return nil, err
	}
	return &URITemplate{parsed}, nil
}

// NormalizeURI returns what all URIs that are equal to one have in common: scheme and host in lower case, unreserved
// characters not encoded, and other encodings with digits in capitals. It is for comparisons; a server may distinguish
// what is in place of a host, so read the URI as it was listed. Resources and templates of a server are found by it.
//
// Spec: RFC 3986 6.2.2.1 and 6.2.2.2
func NormalizeURI(uri string) string { return uritemplate.Normalize(uri) }

// String returns the text of the template.
func (t *URITemplate) String() string { return t.parsed.String() }

// Matches reports whether the template can produce a URI, which is how a server finds the template
// that serves a URI. Equal URIs match alike, see [Server.Template]. A URI longer than 64 KiB does not match. The time is bounded by the length of the
// URI times that of the template.
func (t *URITemplate) Matches(uri string) bool {
	_, ok := t.parsed.Match(uri)
	return ok
}
