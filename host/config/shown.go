package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A ShownLine is a line of a file as it may be shown to its user, with what Load says about it.
type ShownLine struct {
	// Text is the line without a possible secret: what is hidden is "…".
	Text          string
	Errors, Notes []string
}

// maxShownText limits the text that ShownLines returns, in bytes.
const maxShownText = 256 << 10

// ShownLines returns the file at path as it is, without what may be a secret. Values of variables and headers are
// hidden unless they are references, and so are comments, values of members that the host does not know, and all that
// has the form or the name of a secret. A file that cannot be parsed has no lines. A longer file than 256 KiB is cut.
func ShownLines(path string, c *Config) ([]ShownLine, error) {
	f, err := open(path, "")
	if err != nil || f.root == nil {
		return nil, err
	}
	text := f.withoutSecrets()
	cutAfter := len(text) > maxShownText
	if cutAfter {
		text = text[:maxShownText]
	}
	var lines []ShownLine
	for line := range bytes.Lines(text) {
		lines = append(lines, ShownLine{Text: strings.TrimRight(string(line), "\r\n")})
	}
	if cutAfter {
		lines = append(lines, ShownLine{Text: "…"})
	}
	note := func(faults []*Diagnostic, to func(*ShownLine) *[]string) {
		for _, d := range faults {
			if d.Line >= 1 && d.Line <= len(lines) {
				list := to(&lines[d.Line-1])
				text := d.Text
				if d.Pointer != "" {
					text = d.Pointer.LastToken() + ": " + text
				}
				*list = append(*list, text)
			}
		}
	}
	note(c.Errors, func(l *ShownLine) *[]string { return &l.Errors })
	note(c.Warnings, func(l *ShownLine) *[]string { return &l.Notes })
	return lines, nil
}

// A replacement is a part of a text that is shown as another one.
type replacement struct {
	span
	text string
}

// withoutSecrets returns the content of a file that was parsed. Line breaks stay.
func (f *file) withoutSecrets() []byte {
	s := shownValues{file: f, shown: make(map[int]string)}
	s.walk(f.root, nil)
	quotes := jsonQuotes
	if isTOML(f.path) {
		quotes = tomlQuotes
	}
	for start, p := range scan(f.content, quotes) {
		at := start + len(p.bare)
		end := at + len(p.quoted)
		if len(p.quoted) == 0 || !p.quote.comment && isName(f.content[end:]) {
			continue
		}
		text, ok := s.shown[at]
		if !ok {
			text = p.redact()
		}
		s.replaced = append(s.replaced, replacement{span{at, end}, text})
	}
	slices.SortStableFunc(s.replaced, func(a, b replacement) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, r := range s.replaced {
		if r.start < at {
			continue
		}
		out = append(append(out, f.content[at:r.start]...), r.text...)
		at = r.end
	}
	return append(out, f.content[at:]...)
}

// shownValues decides which values of a file are shown.
type shownValues struct {
	*file
	shown    map[int]string // what stands in the place of strings, by where they start
	replaced []replacement  // of other values
}

// A disclosure says how much of the values below a member is shown.
type disclosure int

const (
	unknownMember  disclosure = iota
	onlyReferences            // values of variables and headers
	unlessSecret              // what has no form of a secret
	asURL                     // of a URL with a secret, the origin
	asArguments               // as unlessSecret, with the name of the flag before
)

// disclosures are those of the members of an entry. Other members are unknown.
var disclosures = map[string]disclosure{
	"command": asArguments, "args": asArguments, "cwd": unlessSecret, "workingDirectory": unlessSecret, "envFile": unlessSecret, "path": unlessSecret,
	"env": onlyReferences, "environment": onlyReferences, "headers": onlyReferences, "http_headers": onlyReferences,
	"env_vars": unlessSecret, "env_http_headers": unlessSecret, "bearer_token_env_var": unlessSecret,
	"url": asURL, "serverUrl": asURL, "httpUrl": asURL, "uri": asURL,
	"type": unlessSecret, "transport": unlessSecret, "transportType": unlessSecret, "source": unlessSecret,
	"disabled": unlessSecret, "enabled": unlessSecret, "scopes": unlessSecret,
	"includeTools": unlessSecret, "enabled_tools": unlessSecret, "excludeTools": unlessSecret, "disabledTools": unlessSecret, "disabled_tools": unlessSecret,
	"tools": unlessSecret, "startup_timeout_sec": unlessSecret, "startup_timeout_ms": unlessSecret, "timeout": unlessSecret, "tool_timeout_sec": unlessSecret,
	"description": unlessSecret, "name": unlessSecret, "title": unlessSecret, "version": unlessSecret,
	settingsMember: unlessSecret,
}

// shownOfInput are the members of an input that are shown: others may have its value.
var shownOfInput = []string{"id", "type", "description", "password"}

// walk walks the members of the file to the servers and inputs.
func (s *shownValues) walk(n *node, path []string) {
	for _, m := range n.members {
		at := append(path[:len(path):len(path)], m.name)
		switch {
		case slices.ContainsFunc(layouts, func(l layout) bool { return slices.Equal(l.path, at) }):
			for _, server := range m.value.members {
				for _, member := range server.value.members {
					s.value(member.name, member.value, disclosures[member.name])
				}
			}
			if slices.ContainsFunc(layouts, func(l layout) bool { return isBelow(l.path, at) }) {
				s.walk(m.value, at) // "mcp" has "servers"
			}
		case slices.ContainsFunc(layouts, func(l layout) bool { return len(l.inputs) > 0 && slices.Equal(l.inputs, at) }):
			for _, input := range m.value.elements {
				for _, member := range input.members {
					d := unknownMember
					if slices.Contains(shownOfInput, member.name) {
						d = unlessSecret
					}
					s.value(member.name, member.value, d)
				}
			}
		case slices.ContainsFunc(layouts, func(l layout) bool { return isBelow(l.path, at) || isBelow(l.inputs, at) }):
			s.walk(m.value, at)
		case len(path) == 0 && m.name == hostMember && m.value.kind == kindObject:
			for _, setting := range m.value.members {
				d := unknownMember // addresses of the audit log may have secrets
				if setting.name == "consent" {
					d = unlessSecret
				}
				s.value(setting.name, setting.value, d)
			}
		default:
			s.value(m.name, m.value, unknownMember)
		}
	}
}

// isBelow reports whether a path leads through another one.
func isBelow(path, through []string) bool {
	return len(path) > len(through) && slices.Equal(path[:len(through)], through)
}

// value shows a value as far as its member allows it.
func (s *shownValues) value(name string, n *node, d disclosure) {
	switch n.kind {
	case kindObject:
		for _, m := range n.members {
			below := d
			if d == asArguments { // a command that is an object has the members of an entry
				below = disclosures[m.name]
			}
			s.value(m.name, m.value, below)
		}
	case kindArray:
		for i, element := range n.elements {
			before := name
			if d == asArguments {
				before = flagOf(n.elements, i)
			}
			s.value(before, element, d)
		}
	case kindString:
		if text, ok := s.text(name, n, d); ok {
			s.shown[n.start] = text
		}
	default:
		if (d == unknownMember || d == onlyReferences) && n.end > n.start {
			s.replaced = append(s.replaced, replacement{span{n.start, n.end}, "…"})
		}
	}
}

// flagOf is flagBefore for elements of a file.
func flagOf(all []*node, i int) string {
	args := make([]field, len(all))
	for j, n := range all {
		args[j].text = n.text
	}
	return flagBefore(args, i)
}

// text returns what is shown of a string, with its quotes.
func (s *shownValues) text(name string, n *node, d disclosure) (text string, ok bool) {
	whole := string(s.content[n.start:n.end])
	switch d {
	case onlyReferences:
		return whole, isReference(n.text)
	case asURL:
		if SecretInURL(n.text) != "" {
			return fmt.Sprintf("%q", RedactURL(n.text)), true
		}
		return whole, true
	case asArguments:
		return whole, !hasLiteralSecret(name, n.text)
	case unlessSecret:
		return whole, !hasLiteralSecret("", n.text)
	}
	return "", false
}

// isReference reports whether a value is references without defaults, and says before them at most which kind of
// credential it is.
func isReference(text string) bool {
	found := reference.FindAllString(text, -1)
	if len(found) == 0 || slices.ContainsFunc(found, func(ref string) bool { return strings.HasPrefix(ref, "$$") || strings.Contains(ref, ":-") }) {
		return false
	}
	switch strings.TrimSpace(reference.ReplaceAllLiteralString(text, "")) {
	case "", "Bearer", "Basic", "token":
		return true
	}
	return false
}

// ShownArguments returns the arguments of a program without what is probably a secret, in the place of which is "…".
func ShownArguments(args []string) []string {
	fields := make([]field, len(args))
	for i, a := range args {
		fields[i].text = a
	}
	shown := slices.Clone(args)
	for i, a := range args {
		if hasLiteralSecret(flagBefore(fields, i), a) {
			shown[i] = "…"
		}
	}
	return shown
}
