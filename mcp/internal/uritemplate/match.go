package uritemplate

import (
	"slices"
	"strings"
)

// Match reads the values of the variables from a URI; ok is false if the URI
// does not match. A template matches a URI if it matches one of its equals, see Normalize: the case of literals in the
// scheme and the host does not count, and values keep theirs. Values of exploded variables are lists, all others strings;
// variables without a value in the URI are absent. A URI longer than 64 KiB does
// not match.
func (t *Template) Match(uri string) (values Values, ok bool) {
	if len(uri) > maxURISize {
		return nil, false
	}
	if uri = normalizeEncoding(uri); !t.leads(uri) {
		return nil, false
	}
	m := newMatcher(&t.program, uri)
	if !m.run(m.start, 0) {
		return nil, false
	}
	slices.Reverse(m.captures)
	return bind(m.captures)
}

// leads reports whether a URI begins as all URIs of the template do.
func (t *Template) leads(uri string) bool {
	if len(t.parts) == 0 {
		return true
	}
	for _, s := range t.parts[0].segments {
		if !s.matches(uri) {
			return false
		}
		uri = uri[len(s.text):]
	}
	return true
}

// matcher runs a program on one URI. It is a backtracking matcher that tries
// each pair of state and position only once, because a pair that failed once
// always fails. So the time is bounded by the number of pairs.
type matcher struct {
	*program
	uri      string
	seen     []uint64  // one bit for each state and position
	captures []capture // from the last to the first, once the end is reached
	steps    int       // states tried and characters read, which a test bounds
}

func newMatcher(p *program, uri string) *matcher {
	bits := len(p.states) * (len(uri) + 1)
	return &matcher{program: p, uri: uri, seen: make([]uint64, (bits+63)/64)}
}

// visited reports whether state i was marked at a position.
func (m *matcher) visited(i, at int) bool {
	bit := i*(len(m.uri)+1) + at
	return m.seen[bit/64]&(1<<(bit%64)) != 0
}

// visit marks state i at a position and reports whether it was not before.
func (m *matcher) visit(i, at int) bool {
	if m.visited(i, at) {
		return false
	}
	bit := i*(len(m.uri)+1) + at
	m.seen[bit/64] |= 1 << (bit % 64)
	return true
}

// run reports whether state i at a position leads to the end.
func (m *matcher) run(i, at int) bool {
	for {
		m.steps++
		s := &m.states[i]
		if s.op == opValue {
			return m.value(i, at)
		}
		if !m.visit(i, at) {
			return false
		}
		switch s.op {
		case opAccept:
			return at == len(m.uri)
		case opLiteral:
			if !s.literal.matches(m.uri[at:]) {
				return false
			}
			i, at = s.next, at+len(s.literal.text)
		case opEither:
			if m.run(s.next, at) {
				return true
			}
			i = s.other
		case opEmpty:
			return m.run(s.next, at) && m.capture(s, at, at)
		}
	}
}

// value reads the longest value that leads to the end. It marks the end
// positions of its state, not the starts: an end that failed for one start also
// fails for another.
func (m *matcher) value(i, start int) bool {
	s := &m.states[i]
	first, count := start, 0
	if s.expression.operator.required {
		first, count = start+m.characterSize(s, start), 1
		if first == start {
			return false
		}
	}
	last := first - 1
	for end := first; m.visit(i, end); count++ {
		m.steps++
		last = end
		if count > 0 && count == s.variable.prefix {
			break
		}
		end += m.characterSize(s, end)
	}
	for end := last; end >= first; end-- {
		m.steps++
		if m.visited(i, end) && m.run(s.next, end) {
			return m.capture(s, start, end)
		}
	}
	return false
}

// characterSize returns the size of the next character of a value, or 0 if the
// value must end.
func (m *matcher) characterSize(value *state, at int) int {
	if at == len(m.uri) || strings.IndexByte(value.stop, m.uri[at]) >= 0 {
		return 0
	}
	return unitSize(m.uri[at:])
}

// capture stores a value of the successful match. It returns true.
func (m *matcher) capture(s *state, start, end int) bool {
	m.captures = append(m.captures, capture{s, m.uri[start:end]})
	return true
}
