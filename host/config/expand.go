package config

import (
	"encoding/json/jsontext"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	reference = regexp.MustCompile(`\$\{[^}]*\}`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// expand replaces ${env:NAME} in every text of a server. Values are taken as
// they are: what they hold is not expanded again.
func (p *parser) expand(e *entry, offset int64, at jsontext.Pointer) {
	text := func(s *string, place jsontext.Pointer) {
		*s = reference.ReplaceAllStringFunc(*s, func(ref string) string {
			return p.lookup(ref, offset, place)
		})
	}
	each := func(m map[string]string, place jsontext.Pointer) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			value := m[name]
			text(&value, place.AppendToken(name))
			m[name] = value
		}
	}
	text(&e.Command, at.AppendToken("command"))
	for i := range e.Args {
		text(&e.Args[i], at.AppendToken("args").AppendToken(strconv.Itoa(i)))
	}
	each(e.Env, at.AppendToken("env"))
	text(&e.Cwd, at.AppendToken("cwd"))
	text(&e.URL, at.AppendToken("url"))
	each(e.Headers, at.AppendToken("headers"))
}

// lookup returns the value of a reference, and reports one that has none: a
// server that is started with an empty key fails later and less clearly.
func (p *parser) lookup(ref string, offset int64, at jsontext.Pointer) string {
	name, ok := strings.CutPrefix(ref[2:len(ref)-1], "env:")
	if !ok || !variable.MatchString(name) {
		p.fault(offset, at, "found %s, want ${env:NAME} with the name of a variable", ref)
		return ""
	}
	value, ok := p.env(name)
	if !ok {
		p.fault(offset, at, "the variable %s is not set", name)
	}
	return value
}
