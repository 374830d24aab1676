package uritemplate

import "strings"

// Match reads the values of the variables from a URI; ok is false if the URI
// does not match. Values of exploded variables are lists, all others strings;
// variables that the URI leaves out are absent. A URI longer than 64 KiB does
// not match.
func (t *Template) Match(uri string) (values Values, ok bool) {
	if len(uri) > maxURISize || !strings.HasPrefix(uri, t.leadingLiteral()) {
		return nil, false
	}
	m := newMatcher(&t.program, uri)
	captures, ok := m.walk()
	if !ok {
		return nil, false
	}
	return bind(captures)
}

// leadingLiteral returns what every URI of the template begins with.
func (t *Template) leadingLiteral() string {
	if len(t.parts) == 0 {
		return ""
	}
	return t.parts[0].literal
}

// matcher runs a program over one URI. It first finds out, from the end of the
// URI to its start, from which positions every state can reach the end; then it
// walks from the start and never has to turn back. Both take a bounded number
// of steps per state and position.
type matcher struct {
	*program
	uri   string
	sizes []uint8  // of the character at each position, 0 where none begins
	words int      // per position in ends
	ends  []uint64 // one bit per position and state: the end can be reached
}

func newMatcher(p *program, uri string) *matcher {
	words := (len(p.states) + 63) / 64
	m := &matcher{program: p, uri: uri, words: words}
	m.sizes = make([]uint8, len(uri))
	m.ends = make([]uint64, words*(len(uri)+1))
	for at := len(uri); at >= 0; at-- {
		if at < len(uri) {
			m.sizes[at] = uint8(unitSize(uri[at:]))
		}
		for _, i := range m.order {
			if m.canEnd(i, at) {
				m.ends[at*words+i/64] |= 1 << (i % 64)
			}
		}
	}
	return m
}

// ending reports what canEnd has found before.
func (m *matcher) ending(i, at int) bool {
	return m.ends[at*m.words+i/64]&(1<<(i%64)) != 0
}

// canEnd reports whether the end can be reached from state i at a position. It
// relies on all later positions and on the states earlier in the order.
func (m *matcher) canEnd(i, at int) bool {
	s := &m.states[i]
	switch s.op {
	case opAccept:
		return at == len(m.uri)
	case opLiteral:
		return strings.HasPrefix(m.uri[at:], s.text) && m.ending(s.next, at+len(s.text))
	case opEither:
		return m.ending(s.next, at) || m.ending(s.other, at)
	case opMore:
		return m.ending(s.next, at) || m.canContinue(i, at)
	case opValue:
		return !s.expression.operator.required && m.ending(i-1, at) || m.canContinue(i-1, at)
	}
	return m.ending(s.next, at)
}

// canContinue reports whether the end can be reached if the value that is read
// in the given opMore takes another character.
func (m *matcher) canContinue(more, at int) bool {
	size := m.sizeOf(&m.states[more], at)
	return size > 0 && m.ending(more, at+size)
}

// sizeOf returns the size of the next character of a value, 0 if it ends here.
func (m *matcher) sizeOf(value *state, at int) int {
	if at == len(m.uri) || strings.IndexByte(value.stop, m.uri[at]) >= 0 {
		return 0
	}
	return int(m.sizes[at])
}

// walk follows the program from its start and collects the values.
func (m *matcher) walk() (captures []capture, ok bool) {
	at := 0
	i := m.start
	for m.ending(i, at) {
		s := &m.states[i]
		i = s.next
		switch s.op {
		case opAccept:
			return captures, true
		case opLiteral:
			at += len(s.text)
		case opEither:
			if !m.ending(s.next, at) {
				i = s.other
			}
		case opEmpty:
			captures = append(captures, capture{s, ""})
		case opValue:
			end, ok := m.longest(s, at)
			if !ok {
				return nil, false
			}
			captures = append(captures, capture{s, m.uri[at:end]})
			at = end
		}
	}
	return nil, false
}

// longest returns the end of the longest value from which there is a way on.
// There may be none only because the variable has a prefix, of which canEnd
// knows nothing.
func (m *matcher) longest(s *state, at int) (end int, ok bool) {
	for count := 0; ; count++ {
		if m.ending(s.next, at) && (count > 0 || !s.expression.operator.required) {
			end, ok = at, true
		}
		size := m.sizeOf(s, at)
		if size == 0 || count > 0 && count == s.variable.prefix {
			return end, ok
		}
		at += size
	}
}
