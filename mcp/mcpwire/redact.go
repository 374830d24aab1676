package mcpwire

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fondaco/fondaco/internal/secretname"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

const (
	redactedText = "[redacted]"
	// maxText is the longest text of a message that is not shortened by default, and textHead what is
	// kept of a longer one, in bytes.
	maxText  = 512
	textHead = 128
)

// protocolSecrets are members of MCP and OAuth that carry secrets, in lower case and without separators.
var protocolSecrets = []string{"dpop", "assertion", "codeverifier", "requeststate"}

// notSecret are members of MCP whose names are those of secrets.
var notSecret = []string{"progresstoken"}

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// isSecret reports whether a member or header of that name has a secret.
func isSecret(name string) bool {
	plain := separators.Replace(strings.ToLower(name))
	return !slices.Contains(notSecret, plain) && (secretname.Contains(name) ||
		slices.ContainsFunc(protocolSecrets, func(part string) bool { return strings.Contains(plain, part) }))
}

// headerValue returns the value of a header without secrets: of credentials the scheme, of the id of a
// session the beginning.
func headerValue(name, value string) string {
	const shownID = 8
	switch {
	case name == httpheader.SessionID && len(value) > shownID:
		return value[:shownID] + "…"
	case name == httpheader.WWWAuthenticate:
		return value
	case name == httpheader.Authorization:
		scheme, _, found := strings.Cut(value, " ")
		if !found {
			return redactedText
		}
		return scheme + " " + redactedText
	case isSecret(name):
		return redactedText
	}
	return publicText(value)
}

// form is how much of a value is shown.
type form struct {
	most    int  // bytes of the value, about
	maxText int  // bytes of a text in it
	brief   bool // without the members of aboutPeer
	// secretField reports whether a member of the object at a path is a secret although its name does not say so. It may be nil.
	secretField func(path []string, name string) bool
	// secretSchema is set in the schema of what has the name of a secret, and for a message with a form in which it is not known
	// which fields ask for one.
	secretSchema bool
}

// redacted returns a JSON value without secrets. It reports whether something was shortened or left out
// because of its length.
func redacted(value jsontext.Value, f form) (jsontext.Value, bool) {
	p := printer{in: newDecoder(value), form: f}
	if p.value() != nil {
		return quote("[not JSON]"), true
	}
	return p.out.Bytes(), p.cut
}

// redactedID returns an id, a long one as a string with its beginning.
func redactedID(value jsontext.Value) jsontext.Value {
	id, _ := redacted(value, form{most: maxText, maxText: maxText})
	if len(id) > maxText {
		return quote(clip(string(id)))
	}
	return id
}

func newDecoder(value jsontext.Value) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func unmarshal(data []byte, v any) error {
	return json.Unmarshal(data, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// aboutPeer are the keys of _meta by which a peer describes itself in each message.
var aboutPeer = map[string]bool{
	"io.modelcontextprotocol/clientInfo": true,
	"io.modelcontextprotocol/serverInfo": true,
}

// clientCapabilities is the key of _meta for what a client can do. A brief line has it unless it is empty.
const clientCapabilities = "io.modelcontextprotocol/clientCapabilities"

// printer copies a JSON value, in one line.
type printer struct {
	form
	in   *jsontext.Decoder
	out  bytes.Buffer
	cut  bool
	path []string // names of the members in which the value is
}

// schemaMembers are the members of a JSON Schema whose members are names with a schema each.
var schemaMembers = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}

// schemaValues are the members of a JSON Schema with values of what it describes.
var schemaValues = []string{"default", "const", "enum", "examples"}

// namesSchemas reports whether the members of the object at the path are schemas: of a tool in a list, or of
// a form. In arguments and results a member is what its name says.
func (p *printer) namesSchemas() bool {
	at := slices.IndexFunc(p.path, func(name string) bool {
		return name == "inputSchema" || name == "outputSchema" || name == "requestedSchema"
	})
	if at < 0 || at == len(p.path)-1 || !slices.Contains(schemaMembers, p.path[len(p.path)-1]) {
		return false
	}
	if p.path[at] == "requestedSchema" {
		return at == 0 || at >= 3 && p.path[at-3] == "inputRequests" && p.path[at-1] == "params"
	}
	return at == 1 && p.path[0] == "tools"
}

// full reports whether what follows is left out.
func (p *printer) full() bool { return p.out.Len() >= p.most }

func (p *printer) value() error {
	switch p.in.PeekKind() {
	case '{':
		return p.container('}', p.member)
	case '[':
		return p.container(']', p.value)
	}
	token, err := p.in.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() == '"' {
		p.text(token.String())
		return nil
	}
	p.out.WriteString(token.String())
	return nil
}

// container copies an object or array up to its end. Of an element that does not fit "…" remains.
func (p *printer) container(end jsontext.Kind, element func() error) error {
	begin, err := p.in.ReadToken()
	if err != nil {
		return err
	}
	p.out.WriteString(begin.String())
	for first := true; p.in.PeekKind() != end; {
		before := p.out.Len()
		if !first {
			p.out.WriteByte(',')
		}
		if p.full() {
			return p.leaveOut(end)
		}
		begun := p.out.Len()
		if err := element(); err != nil {
			return err
		}
		if p.out.Len() == begun { // left out
			p.out.Truncate(before)
			continue
		}
		first = false
	}
	if _, err := p.in.ReadToken(); err != nil {
		return err
	}
	p.out.WriteByte(byte(end))
	return nil
}

// leaveOut skips the rest of a container.
func (p *printer) leaveOut(end jsontext.Kind) error {
	p.cut = true
	p.out.WriteString(`"…"`)
	if end == '}' {
		p.out.WriteString(`:"…"`)
	}
	for p.in.PeekKind() != end {
		if err := p.in.SkipValue(); err != nil {
			return err
		}
	}
	p.out.WriteByte(byte(end))
	_, err := p.in.ReadToken()
	return err
}

func (p *printer) member() error {
	token, err := p.in.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	if p.brief && aboutPeer[name] {
		return p.in.SkipValue()
	}
	if p.brief && name == clientCapabilities {
		return p.capabilities()
	}
	if p.secretSchema && slices.Contains(schemaValues, name) {
		return p.in.SkipValue()
	}
	p.text(name)
	p.out.WriteByte(':')
	if (isSecret(name) || p.secretField != nil && p.secretField(p.path, name)) && p.in.PeekKind() != 'n' {
		if p.in.PeekKind() != '{' || !p.namesSchemas() {
			p.text(redactedText)
			return p.in.SkipValue()
		}
		defer func(before bool) { p.secretSchema = before }(p.secretSchema)
		p.secretSchema = true
	}
	p.path = append(p.path, name)
	defer func() { p.path = p.path[:len(p.path)-1] }()
	return p.value()
}

func (p *printer) capabilities() error {
	value, err := p.in.ReadValue()
	if err != nil || value.Compact() == nil && string(value) == "{}" {
		return err
	}
	shown, cut := redacted(value, form{most: p.most - p.out.Len(), maxText: p.maxText, brief: true})
	p.cut = p.cut || cut
	p.text(clientCapabilities)
	p.out.WriteByte(':')
	p.out.Write(shown)
	return nil
}

// text writes a string, the beginning of a long one. Of a URL it leaves out the user and the query.
func (p *printer) text(s string) {
	s = publicText(s)
	if len(s) > p.maxText {
		p.cut = true
		s = clipAt(s, min(textHead, p.maxText))
	}
	p.out.Write(quote(s))
}

// publicText returns s, and if it is a URL without what may be secret.
func publicText(s string) string {
	scheme, _, isURL := strings.Cut(s, "://")
	if !isURL || strings.ContainsFunc(scheme, func(r rune) bool {
		return r != '+' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return s
	}
	return publicURL(s)
}

// publicURL returns a URL without its user, query and fragment.
func publicURL(s string) string {
	scheme, rest, _ := strings.Cut(s, "://")
	rest, query, queried := strings.Cut(rest, "?")
	if !queried {
		rest, _, _ = strings.Cut(rest, "#")
	}
	authority, path, hasPath := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		authority = redactedText + authority[at:]
	}
	s = scheme + "://" + authority
	if hasPath {
		s += "/" + path
	}
	if query != "" {
		s += "?" + redactedText
	}
	return s
}

// clip shortens a text of a peer.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return clipAt(s, textHead)
}

func clipAt(s string, at int) string {
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}

// quote returns a JSON string in which characters that a terminal does not show are escapes.
func quote(s string) jsontext.Value {
	quoted, err := jsontext.AppendQuote(nil, s)
	if err != nil { // s is not Unicode; AppendQuote has replaced what is not
		quoted, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return jsontext.Value(printable(string(quoted)))
}

// printable returns s with characters that a terminal does not show as escapes of JSON.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b.WriteString(`\u`)
			const digits = "0123456789abcdef"
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[unit>>shift&0xf])
			}
		}
	}
	return b.String()
}

// hidden reports whether a terminal may obey a character or not show it.
func hidden(r rune) bool { return !unicode.IsPrint(r) }
