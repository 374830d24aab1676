package traffic

import (
	"bytes"
	"encoding/json/jsontext"
	"strings"
)

// scanner reads the members of a JSON object or the elements of an array in place. It copies nothing and does
// not check what it skips, because the messages are checked elsewhere: of a text that is not JSON it
// finds some members or none, in linear time and within the text.
type scanner struct {
	data []byte
	at   int
}

// in returns a scanner of the content of an object or array. ok is false for anything else.
func in(value []byte, open byte) (s scanner, ok bool) {
	if len(value) < 2 || value[0] != open || value[len(value)-1] != open+2 { // { } and [ ] are two apart in ASCII
		return s, false
	}
	return scanner{data: value[1 : len(value)-1]}, true
}

// member returns the next member of an object.
func (s *scanner) member() (name, value []byte, ok bool) {
	s.separator()
	if s.at >= len(s.data) || s.data[s.at] != '"' {
		return nil, nil, false
	}
	name = s.value()
	s.separator()
	value = s.value()
	return name, value, len(name) >= 2 && len(value) > 0
}

// element returns the next element of an array, nil at its end.
func (s *scanner) element() []byte {
	s.separator()
	return s.value()
}

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

// value skips the value at the position and returns it.
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
			if depth--; depth <= 0 {
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
