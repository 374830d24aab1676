package rawjson

import (
	"bytes"
	"encoding/json/jsontext"
	"iter"
)

// Member returns the value of the named member of an object, or nil if there is
// none or the text is not an object.
func Member(object jsontext.Value, name string) jsontext.Value {
	for key, value := range Members(object) {
		if string(key) == name {
			return value
		}
	}
	return nil
}

// Members yields the decoded names and the texts of the members of an object, or nothing
// if the text is not an object. A name is valid until the next one.
func Members(object jsontext.Value) iter.Seq2[[]byte, jsontext.Value] {
	return func(yield func([]byte, jsontext.Value) bool) {
		for i := enter(object, '{'); i < len(object) && object[i] == '"'; {
			end := skipString(object, i)
			value := skipSpace(object, skipSpace(object, end)+1)
			next := skipValue(object, value)
			if !yield(Unquote(object[i:end]), object[value:next:next]) {
				return
			}
			i = skipSpace(object, skipSpace(object, next)+1)
		}
	}
}

// Position is where a value begins in a text, and where it ends.
type Position struct{ Begin, End int }

// Positions is Members with the positions of the values in place of their texts.
func Positions(object jsontext.Value) iter.Seq2[[]byte, Position] {
	return func(yield func([]byte, Position) bool) {
		for i := enter(object, '{'); i < len(object) && object[i] == '"'; {
			end := skipString(object, i)
			value := skipSpace(object, skipSpace(object, end)+1)
			next := skipValue(object, value)
			if !yield(Unquote(object[i:end]), Position{value, next}) {
				return
			}
			i = skipSpace(object, skipSpace(object, next)+1)
		}
	}
}

// Elements yields the texts of the elements of an array, or nothing if the text is not an
// array.
func Elements(array jsontext.Value) iter.Seq[jsontext.Value] {
	return func(yield func(jsontext.Value) bool) {
		for i := enter(array, '['); i < len(array) && array[i] != ']'; {
			next := skipValue(array, i)
			if next == i || !yield(array[i:next:next]) {
				return
			}
			if i = skipSpace(array, next); i == len(array) || array[i] == ']' {
				return
			}
			i = skipSpace(array, i+1)
		}
	}
}

// enter returns the index of the first token inside a container, or the length
// of the text if it is not a container.
func enter(text []byte, bracket byte) int {
	i := skipSpace(text, 0)
	if i == len(text) || text[i] != bracket {
		return len(text)
	}
	return skipSpace(text, i+1)
}

// Unquote decodes the text of a string. It copies only if there is something to
// decode.
func Unquote(text []byte) []byte {
	if len(text) < 2 {
		return nil
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	decoded, _ := jsontext.AppendUnquote(nil, text) // a string of strict JSON is valid
	return decoded
}

// The skip functions return the index after the skipped text, at most the
// length of the text.

func skipSpace(text []byte, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return min(i, len(text))
}

func skipValue(text []byte, i int) int {
	if i < len(text) {
		switch text[i] {
		case '"':
			return skipString(text, i)
		case '{', '[':
			return skipContainer(text, i)
		}
	}
	for i < len(text) && !isSpace(text[i]) && text[i] != ',' && text[i] != '}' && text[i] != ']' {
		i++
	}
	return i
}

func skipString(text []byte, i int) int {
	for start := i + 1; ; {
		quote := bytes.IndexByte(text[i+1:], '"')
		if quote < 0 {
			return len(text)
		}
		i += 1 + quote
		if !endsInEscape(text[start:i]) {
			return i + 1
		}
	}
}

// endsInEscape reports whether the last backslash of a part of a string is not
// itself escaped.
func endsInEscape(part []byte) bool {
	if len(part) == 0 || part[len(part)-1] != '\\' { // the usual case
		return false
	}
	return (len(part)-len(bytes.TrimRight(part, `\`)))%2 == 1
}

func skipContainer(text []byte, i int) int {
	for depth := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = skipString(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
