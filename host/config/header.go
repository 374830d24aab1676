package config

import (
	"net/http"
	"regexp"
	"slices"
)

var (
	headerName  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	headerValue = regexp.MustCompile("^[\t\\x20-\\x7e\u0080-\U0010ffff]*$")
)

// IsHeaderName reports whether a text is the name of a header.
//
// Spec: RFC 9110 5.1
func IsHeaderName(name string) bool { return headerName.MatchString(name) }

// IsHeaderValue reports whether a text is the value of a header: it has no control character other than a tab.
//
// Spec: RFC 9110 5.5
func IsHeaderValue(value string) bool { return headerValue.MatchString(value) }

// messageHeaders describe the message itself. A program that sends one of its own has it replaced or refused.
var messageHeaders = []string{"Connection", "Content-Length", "Host", "Trailer", "Transfer-Encoding", "Upgrade"}

// checkHeaders reports headers that no request can have. Their values are checked when they are known.
func (s *source) checkHeaders(headers []pair) {
	for i, p := range headers {
		name := http.CanonicalHeaderKey(p.name)
		switch {
		case !IsHeaderName(p.name):
			s.addError(p.at, "found a name that no header can have, want letters, digits and hyphens, such as X-Api-Key")
		case slices.Contains(messageHeaders, name):
			s.addError(p.at, "found the header %s, which each request sets itself; want others", name)
		case slices.ContainsFunc(headers[:i], func(other pair) bool { return http.CanonicalHeaderKey(other.name) == name }):
			s.addError(p.at, "found the header %s twice, want it once: case does not distinguish names", name)
		}
	}
}
