package jsonschema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxViolations bounds the violations of one ValidationError.
const maxViolations = 10

// ValidationError describes how a value violates its schema.
type ValidationError struct {
	// Subject names the value in the text of the error, such as "arguments".
	// Validate leaves it empty; the caller may set it.
	Subject string
	// Violations holds the first of them, ordered by pointer. There is at least
	// one and at most ten.
	Violations []Violation
	// More counts those beyond.
	More int
}

// Violation is one way in which one part of a value does not satisfy the schema.
type Violation struct {
	// Pointer is the JSON Pointer of the part.
	Pointer string
	// Message says what was found and what is expected. It quotes at most 64 characters of
	// each value and has no control characters.
	Message string
}

// Error lists the violations on one line, for a model or a person to act on.
func (e *ValidationError) Error() string {
	var b strings.Builder
	for i, v := range e.Violations {
		if i > 0 {
			b.WriteString("; ")
		}
		place := e.Subject + readable(v.Pointer)
		b.WriteString(cmp.Or(place, "value") + ": " + v.Message)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// violations collects the first violations in the order of their pointers, and counts the rest.
type violations struct {
	first []Violation
	more  int
}

// full reports whether a violation at pointer would not be kept.
func (vs *violations) full(pointer string) bool {
	return len(vs.first) == maxViolations && comparePointers(pointer, vs.first[maxViolations-1].Pointer) > 0
}

func (vs *violations) add(v Violation) {
	i, found := slices.BinarySearchFunc(vs.first, v, func(a, b Violation) int {
		return cmp.Or(comparePointers(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	if found {
		return
	}
	vs.first = slices.Insert(vs.first, i, v)
	if len(vs.first) > maxViolations {
		vs.first = vs.first[:maxViolations]
		vs.more++
	}
}

// comparePointers orders JSON Pointers token by token, numbers by their value.
func comparePointers(a, b string) int {
	for a != b {
		var x, y string
		x, a, _ = strings.Cut(strings.TrimPrefix(a, "/"), "/")
		y, b, _ = strings.Cut(strings.TrimPrefix(b, "/"), "/")
		longer := 0
		if isIndex(x) && isIndex(y) {
			longer = cmp.Compare(len(x), len(y))
		}
		if c := cmp.Or(longer, strings.Compare(x, y)); c != 0 {
			return c
		}
	}
	return 0
}

// isIndex reports whether a token can be the index of an array element.
func isIndex(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == ""
}

// maxQuoted bounds the characters quoted from a peer.
const maxQuoted = 64

// Excerpt quotes the beginning of a text from a peer.
func Excerpt(text string) string {
	short, cut := clip(text, maxQuoted)
	if cut {
		return strconv.Quote(short) + "…"
	}
	return strconv.Quote(short)
}

// readable returns a JSON Pointer from a peer, cut and free of control
// characters.
func readable(pointer string) string {
	short, cut := clip(pointer, maxQuoted)
	quoted := strconv.Quote(short)
	if quoted = quoted[1 : len(quoted)-1]; cut {
		return quoted + "…"
	}
	return quoted
}

// clip returns the first n characters of text.
func clip(text string, n int) (short string, cut bool) {
	at := 0
	for range n {
		if at == len(text) {
			return text, false
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return text[:at], at < len(text)
}

// where returns a JSON Pointer as the beginning of a message, nothing for the
// root.
func where(pointer string) string {
	if pointer == "" {
		return ""
	}
	return readable(pointer) + ": "
}
