package config

import (
	"bytes"
	"iter"
)

// A delimiter describes a kind of string or comment, in which brackets have no meaning.
type delimiter struct {
	open, close string
	escapes     bool // a backslash escapes the next byte
	comment     bool
}

// The delimiters of each language. Longer ones come before their prefixes.
var (
	jsonQuotes = []delimiter{
		{open: `"`, close: `"`, escapes: true},
		{open: "//", close: "\n", comment: true},
		{open: "/*", close: "*/", comment: true},
	}
	tomlQuotes = []delimiter{
		{open: `"""`, close: `"""`, escapes: true},
		{open: `'''`, close: `'''`},
		{open: `"`, close: `"`, escapes: true},
		{open: `'`, close: `'`},
		{open: "#", close: "\n", comment: true},
	}
)

// A segment is the text before a string or comment, and that string or comment.
type segment struct {
	bare   []byte
	quoted []byte
	quote  delimiter
}

// scan splits a text into segments with their offsets. It does not validate: the last
// string may be unterminated.
func scan(text []byte, quotes []delimiter) iter.Seq2[int, segment] {
	return func(yield func(int, segment) bool) {
		for start, i := 0, 0; i <= len(text); {
			q, found := quoteAt(text[i:], quotes)
			if !found && i < len(text) {
				i++
				continue
			}
			end := i
			if found {
				end += q.length(text[i:])
			}
			if !yield(start, segment{text[start:i], text[i:end], q}) || !found {
				return
			}
			start, i = end, end
		}
	}
}

func quoteAt(text []byte, quotes []delimiter) (delimiter, bool) {
	for _, q := range quotes {
		if bytes.HasPrefix(text, []byte(q.open)) {
			return q, true
		}
	}
	return delimiter{}, false
}

// length returns the length of the string or comment at the start of text. A
// triple-quoted string may end in up to two more quotes.
func (q delimiter) length(text []byte) int {
	for i := len(q.open); i < len(text); i++ {
		switch {
		case q.escapes && text[i] == '\\':
			i++
		case bytes.HasPrefix(text[i:], []byte(q.close)):
			if q.close == "\n" {
				return i
			}
			for i += len(q.close); len(q.close) == 3 && i < len(text) && text[i] == q.close[0]; i++ {
			}
			return i
		}
	}
	return len(text)
}
