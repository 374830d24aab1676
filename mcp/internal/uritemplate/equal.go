package uritemplate

import "strings"

// Normalize returns the form that all equal URIs have in common: scheme and host in lower case, no encoding of
// unreserved characters, and the digits of other encodings in capitals. It does nothing else: "." and ".." stay, and
// so do an empty path, a port and the encodings of reserved characters, such as %2F. It is one of the equal URIs
// only for the comparison: some servers distinguish the case of what they have in place of a host.
//
// Spec: RFC 3986 6.2.2.1 and 6.2.2.2
func Normalize(uri string) string {
	uri = normalizeEncoding(uri)
	if end := schemeSize(uri); !hasCapital(uri[:end]) && (!strings.HasPrefix(uri[end:], "//") || !hasCapital(authorityOf(uri[end+2:]))) {
		return uri
	}
	at := inScheme
	var out strings.Builder
	for _, s := range at.split(uri) {
		out.WriteString(s.text)
	}
	return out.String()
}

// normalizeEncoding decodes unreserved characters, and writes the digits of other encodings in capitals.
//
// Spec: RFC 3986 6.2.2.1 and 6.2.2.2
func normalizeEncoding(text string) string {
	at := strings.IndexByte(text, '%')
	if at < 0 {
		return text
	}
	out := []byte(text[:at])
	for i := at; i < len(text); i++ {
		if !isTriplet(text[i:]) {
			out = append(out, text[i])
			continue
		}
		if c := unhex(text[i+1])<<4 | unhex(text[i+2]); isUnreserved(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', upper(text[i+1]), upper(text[i+2]))
		}
		i += 2
	}
	return string(out)
}

// lower returns a text with the letters of ASCII in lower case: a host has no others.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		out[i] = lowerByte(c)
	}
	return string(out)
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

// A segment is a part of a literal, of which the case counts or not.
type segment struct {
	text    string // in lower case if any is accepted
	anyCase bool
}

// matches reports whether a URI begins with the segment.
func (s segment) matches(uri string) bool {
	if !s.anyCase {
		return strings.HasPrefix(uri, s.text)
	}
	if len(uri) < len(s.text) {
		return false
	}
	for i := range len(s.text) {
		if c := uri[i]; c != s.text[i] && lowerByte(c) != s.text[i] {
			return false
		}
	}
	return true
}

// A component is the part of a URI in which a literal begins.
type component int

const (
	inScheme    component = iota
	inAuthority           // after "//"
	afterAuthority
)

// after returns the component after an expression, nil for none. A scheme is not looked for after one, and a value can
// be the end of the authority unless it is one segment of the host.
func (at component) after(e *expression) component {
	if e == nil || at == inAuthority && !e.operator.reserved && (e.operator.first == "" || e.operator.first == ".") {
		return at
	}
	return afterAuthority
}

// split divides a literal that begins in a component, and moves to that of its end.
func (at *component) split(literal string) (segments []segment) {
	add := func(text string, anyCase bool) {
		last := len(segments) - 1
		switch {
		case text == "":
		case anyCase && last >= 0 && segments[last].anyCase:
			segments[last].text += lower(text)
		case anyCase:
			segments = append(segments, segment{lower(text), true})
		default:
			segments = append(segments, segment{text, false})
		}
	}
	rest := literal
	if *at == inScheme {
		*at = afterAuthority
		if size := schemeSize(rest); size > 0 {
			if strings.HasPrefix(rest[size:], "//") {
				size += 2
				*at = inAuthority
			}
			add(rest[:size], true)
			rest = rest[size:]
		}
	}
	if *at == inAuthority {
		end := len(authorityOf(rest))
		if end < len(rest) {
			*at = afterAuthority
		}
		user := strings.LastIndexByte(rest[:end], '@') + 1
		add(rest[:user], false)
		add(rest[user:end], true)
		rest = rest[end:]
	}
	add(rest, false)
	return segments
}

// authorityOf returns the authority at the beginning of what follows "//".
func authorityOf(rest string) string {
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		return rest[:end]
	}
	return rest
}

func hasCapital(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

// schemeSize returns the size of the scheme at the beginning of a URI, with its colon, or 0.
//
// Spec: RFC 3986 3.1
func schemeSize(uri string) int {
	for i := range len(uri) {
		c := uri[i]
		switch {
		case c == ':' && i > 0:
			return i + 1
		case !isAlphanumeric(c) && (c != '+' && c != '-' && c != '.' || i == 0):
			return 0
		}
	}
	return 0
}
