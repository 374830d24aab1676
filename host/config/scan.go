package config

import (
	"bytes"
	"iter"
)

// A quote is a way to write text in which brackets mean nothing: strings and
// comments.
type quote struct {
	open, close string
	escapes     bool // a backslash takes the next byte with it
	comment     bool
}

// The quotes of each language, longer ones before those that they begin with.
var (
	jsonQuotes = []quote{
		{open: `"`, close: `"`, escapes: true},
		{open: "//", close: "\n", comment: true},
		{open: "/*", close: "*/", comment: true},
	}
	tomlQuotes = []quote{
		{open: `"""`, close: `"""`, escapes: true},
		{open: `'''`, close: `'''`},
		{open: `"`, close: `"`, escapes: true},
		{open: `'`, close: `'`},
		{open: "#", close: "\n", comment: true},
	}
)

// A piece is the text up to a quote, and the quote.
type piece struct {
	bare   []byte
	quoted []byte
	quote  quote
}

// scan takes a text apart, with the offset of each piece. It does not judge: the
// last quote may be open.
func scan(text []byte, quotes []quote) iter.Seq2[int, piece] {
	return func(yield func(int, piece) bool) {
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
			if !yield(start, piece{text[start:i], text[i:end], q}) || !found {
				return
			}
			start, i = end, end
		}
	}
}

func quoteAt(text []byte, quotes []quote) (quote, bool) {
	for _, q := range quotes {
		if bytes.HasPrefix(text, []byte(q.open)) {
			return q, true
		}
	}
	return quote{}, false
}

// length returns how many bytes the quote takes that text begins with. A triple
// one may end in up to two more of its characters.
func (q quote) length(text []byte) int {
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
