package rawjson

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf8"
)

// Limits bound one text.
type Limits struct {
	// Depth is the maximum nesting of containers.
	Depth int
	// Elements is the maximum number of values in the text, not counting names.
	Elements int
}

// Accepts reports true only if the text is one value of strict JSON within the
// limits, without duplicate names, with valid UTF-8 and numbers in plain form.
// False means that the text may or may not be valid.
//
// Spec: RFC 8259; RFC 7493 2.1 to 2.3
func Accepts(text []byte, l Limits) bool {
	if !utf8.Valid(text) {
		return false
	}
	s := newScanner(text, l)
	defer s.release()
	return s.space(s.value(s.space(0))) == len(text)
}

// Object is Accepts for a text that is an object. It calls the function with
// each member, whose name has no escapes, before it is known whether the whole
// text is accepted.
func Object(text []byte, l Limits, member func(name, value []byte)) bool {
	if !utf8.Valid(text) {
		return false
	}
	s := newScanner(text, l)
	defer s.release()
	i := s.space(0)
	if i == len(text) || text[i] != '{' || !s.open() {
		return false
	}
	return s.space(s.members(i+1, member)) == len(text)
}

// scanner reads one text. The methods that read a value return the index after
// it.
type scanner struct {
	left  Limits // the unused part of the limits
	text  []byte
	names [][]byte // of the objects that are open, innermost last
}

// maxNumber is the maximum length, in bytes, of a number whose range need not
// be checked.
const maxNumber = 300

// perhaps is the index returned for a value that the scanner does not accept.
const perhaps = -1

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func newScanner(text []byte, l Limits) *scanner {
	s := scanners.Get().(*scanner)
	s.left, s.text, s.names = l, text, s.names[:0]
	return s
}

// release must be the last use of s. It does not keep buffers that large
// objects have grown.
func (s *scanner) release() {
	const maxKept = 64
	if cap(s.names) > maxKept {
		s.names = nil
	}
	clear(s.names[:cap(s.names)])
	s.text = nil
	scanners.Put(s)
}

// space returns the index after white space.
func (s *scanner) space(i int) int {
	if i == perhaps {
		return perhaps
	}
	for i < len(s.text) && isSpace(s.text[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// open counts one container, and reports false if it exceeds the limits.
func (s *scanner) open() bool {
	s.left.Depth--
	return s.count() && s.left.Depth >= 0
}

func (s *scanner) count() bool {
	s.left.Elements--
	return s.left.Elements >= 0
}

// value returns the end of the value that begins at i.
func (s *scanner) value(i int) int {
	if i == perhaps || i >= len(s.text) {
		return perhaps
	}
	switch c := s.text[i]; {
	case c == '{' && s.open():
		return s.members(i+1, nil)
	case c == '[' && s.open():
		return s.elements(i + 1)
	case !s.count():
		return perhaps
	case c == '"':
		return s.str(i + 1)
	case c == '-' || '0' <= c && c <= '9':
		return s.number(i)
	}
	return s.literal(i)
}

// elements returns the end of an array whose opening bracket is before i.
func (s *scanner) elements(i int) int {
	if i = s.space(i); s.at(i, ']') {
		s.left.Depth++
		return i + 1
	}
	for {
		i = s.space(s.value(s.space(i)))
		switch {
		case s.at(i, ']'):
			s.left.Depth++
			return i + 1
		case !s.at(i, ','):
			return perhaps
		}
		i++
	}
}

// members returns the end of an object whose opening brace is before i.
func (s *scanner) members(i int, member func(name, value []byte)) int {
	outer := len(s.names)
	if i = s.space(i); s.at(i, '}') {
		s.left.Depth++
		return i + 1
	}
	for {
		name := s.space(i)
		if !s.at(name, '"') {
			return perhaps
		}
		colon := s.space(s.name(name+1, outer))
		if !s.at(colon, ':') {
			return perhaps
		}
		value := s.space(colon + 1)
		end := s.value(value)
		if i = s.space(end); i == perhaps {
			return perhaps
		}
		if member != nil {
			member(s.names[len(s.names)-1], s.text[value:end:end])
		}
		switch {
		case s.at(i, '}'):
			return s.close(i+1, outer)
		case !s.at(i, ','):
			return perhaps
		}
		i++
	}
}

// manyNames is the number of names from which a map is used to find duplicates instead of
// a linear search.
const manyNames = 12

// name returns the end of a member's name, which begins at i after its quote,
// and stores it. It does not accept names with escapes, because they may equal
// another name.
func (s *scanner) name(i, outer int) int {
	end := s.str(i)
	if end == perhaps {
		return perhaps
	}
	name := s.text[i : end-1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		return perhaps
	}
	if others := s.names[outer:]; len(others) < manyNames {
		for _, other := range others {
			if bytes.Equal(name, other) {
				return perhaps
			}
		}
	}
	s.names = append(s.names, name)
	return end
}

// close removes the names of an object that ends at i. It does not accept the
// object if a name occurs twice.
func (s *scanner) close(i, outer int) int {
	names := s.names[outer:]
	if len(names) > manyNames {
		slices.SortFunc(names, bytes.Compare)
		for j := range names[1:] {
			if bytes.Equal(names[j], names[j+1]) {
				return perhaps
			}
		}
	}
	s.names = s.names[:outer]
	s.left.Depth++
	return i
}

func (s *scanner) at(i int, c byte) bool { return 0 <= i && i < len(s.text) && s.text[i] == c }

// str returns the end of a string whose opening quote is before i.
func (s *scanner) str(i int) int {
	for i != perhaps {
		i = plainEnd(s.text, i)
		switch {
		case i == len(s.text):
			return perhaps
		case s.text[i] == '"':
			return i + 1
		case s.text[i] == '\\':
			i = s.escape(i + 1)
		default:
			return perhaps // a control character
		}
	}
	return perhaps
}

// escape returns the end of an escape whose backslash is before i. It does not
// accept surrogates.
func (s *scanner) escape(i int) int {
	if i >= len(s.text) {
		return perhaps
	}
	switch s.text[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		return s.hex(i + 1)
	}
	return perhaps
}

func (s *scanner) hex(i int) int {
	if i+4 > len(s.text) {
		return perhaps
	}
	digits := s.text[i : i+4]
	for _, c := range digits {
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return perhaps
		}
	}
	if digits[0]|0x20 == 'd' && digits[1] >= '8' {
		return perhaps // a surrogate
	}
	return i + 4
}

// number returns the end of a number without an exponent that begins at i.
func (s *scanner) number(i int) int {
	start := i
	if s.text[i] == '-' {
		i++
	}
	whole := i
	i = s.digits(i)
	if i == whole || s.text[whole] == '0' && i > whole+1 {
		return perhaps
	}
	if s.at(i, '.') {
		fraction := i + 1
		if i = s.digits(fraction); i == fraction {
			return perhaps
		}
	}
	if s.at(i, 'e') || s.at(i, 'E') || i-start > maxNumber {
		return perhaps
	}
	return i
}

func (s *scanner) digits(i int) int {
	for i < len(s.text) && '0' <= s.text[i] && s.text[i] <= '9' {
		i++
	}
	return i
}

func (s *scanner) literal(i int) int {
	for _, word := range []string{"true", "false", "null"} {
		if end := i + len(word); end <= len(s.text) && string(s.text[i:end]) == word {
			return end
		}
	}
	return perhaps
}
