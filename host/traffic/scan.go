package traffic

import (
	"bytes"
	"encoding/json/jsontext"
	"iter"
	"strings"
)

// scanner reads the members of JSON objects and the elements of arrays in place, in one pass. It copies nothing and does
// not check what it skips, because the messages are checked elsewhere: of a text that is not JSON it
// finds some members or none, in linear time and within the text.
type scanner struct {
	data []byte
	at   int
}

// enter moves into the object or array at the position, which begins with open.
func (s *scanner) enter(open byte) bool {
	s.separator()
	if s.at == len(s.data) || s.data[s.at] != open {
		return false
	}
	s.at++
	return true
}

// members yields the names of the members of the object at the position, while the position is at the value of each. It
// skips what is not read of them, and yields nothing for another value.
func (s *scanner) members() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !s.enter('{') {
			s.value()
			return
		}
		for s.separator(); s.at < len(s.data) && s.data[s.at] == '"'; s.separator() {
			name := unquoted(s.value())
			s.separator()
			value := s.at
			if !yield(name) {
				return
			}
			if s.at == value {
				s.value()
			}
		}
		s.at = min(s.at+1, len(s.data))
	}
}

// element returns the next element of the array that was entered, nothing at its end.
func (s *scanner) element() []byte {
	s.separator()
	if s.at < len(s.data) && s.data[s.at] == ']' {
		return nil
	}
	return s.value()
}

// end moves to the end of the text.
func (s *scanner) end() { s.at = len(s.data) }

func (s *scanner) separator() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			s.at++
		default:
			return
		}
	}
}

// value skips the value at the position and returns it, nothing at the end of an object or array.
func (s *scanner) value() []byte {
	begin := s.at
	depth := 0
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			s.text()
			if depth == 0 {
				return s.data[begin:s.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of what the value is in
				return s.data[begin:s.at]
			}
			if depth--; depth == 0 {
				s.at++
				return s.data[begin:s.at]
			}
		case ',', ' ', '\t', '\r', '\n', ':':
			if depth == 0 { // the end of a number or a literal
				return s.data[begin:s.at]
			}
		}
		s.at++
	}
	return s.data[begin:]
}

// text skips a string.
func (s *scanner) text() {
	s.at++
	for {
		i := bytes.IndexByte(s.data[s.at:], '"')
		if i < 0 {
			s.at = len(s.data)
			return
		}
		escapes := 0
		for escapes < i && s.data[s.at+i-1-escapes] == '\\' {
			escapes++
		}
		s.at += i + 1
		if escapes%2 == 0 {
			return
		}
	}
}

// unquoted returns the text of a JSON string, or nil. Without escapes it is a part of the string.
func unquoted(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return nil
	}
	return text
}

// maxText limits each text of a peer, in bytes.
const maxText = 128

// short returns a copy of a text of at most maxText bytes.
func short(text []byte) string {
	if len(text) <= maxText {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	const more = "…"
	return strings.ToValidUTF8(string(text[:maxText-len(more)]), "") + more
}
