package rawjson

import (
	"encoding/json/jsontext"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Text is a string of valid UTF-8 to encode as the content of a JSON string, without the quotes.
// Its encoded size is known in advance, so it can be written into one buffer of the right size, or
// in pieces through a small buffer.
type Text struct {
	rest string // the unwritten part
	size int    // of rest with its escapes, in bytes
}

// TextOf returns the Text of a string. It reports false if the string is not
// valid UTF-8.
func TextOf(s string) (t Text, ok bool) {
	if !utf8.ValidString(s) {
		return Text{}, false
	}
	size := len(s)
	for i := plainEnd(s, 0); i < len(s); i = plainEnd(s, i+1) {
		size += len(escapes[s[i]]) - 1
	}
	return Text{s, size}, true
}

// Size returns the size of the encoded text in bytes.
func (t Text) Size() int { return t.size }

// Append appends the text to dst.
func (t Text) Append(dst []byte) []byte {
	dst, _ = t.Fill(slices.Grow(dst, t.size))
	return dst
}

// Fill appends as much of the text as fits into the capacity of dst, and
// returns the rest of the text.
func (t Text) Fill(dst []byte) ([]byte, Text) {
	for {
		run := t.rest[:min(len(t.rest), cap(dst)-len(dst))]
		n := len(run)
		if t.size > len(t.rest) { // the rest has escapes
			n = plainEnd(run, 0)
		}
		dst, t = append(dst, run[:n]...), Text{t.rest[n:], t.size - n}
		if n == len(run) {
			return dst, t
		}
		escape := escapes[t.rest[0]]
		if cap(dst)-len(dst) < len(escape) {
			return dst, t
		}
		dst, t = append(dst, escape...), Text{t.rest[1:], t.size - len(escape)}
	}
}

// AppendString appends a string in quotes, without escaping for HTML. Invalid
// UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	t, ok := TextOf(s)
	if !ok {
		dst, _ = jsontext.AppendQuote(dst, s) // the error reports only the replacement
		return dst
	}
	dst = append(slices.Grow(dst, t.size+2), '"')
	return append(t.Append(dst), '"')
}

// escapes are the escape sequences of the characters that are not plain.
var escapes = func() (all ['\\' + 1]string) {
	const hex = "0123456789abcdef"
	for c := range ' ' {
		all[c] = `\u00` + hex[c>>4:c>>4+1] + hex[c&15:c&15+1]
	}
	all['\b'], all['\f'], all['\n'], all['\r'], all['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	all['"'], all['\\'] = `\"`, `\\`
	return all
}()

// plainEnd returns the index of the first byte from i on that must be escaped:
// a control character, a quote, or a backslash.
func plainEnd[Text ~[]byte | ~string](text Text, i int) int {
	for ; i+32 <= len(text); i += 32 {
		t := text[i : i+32]
		if special(load(t, 0))|special(load(t, 8))|special(load(t, 16))|special(load(t, 24)) != 0 {
			break
		}
	}
	for ; i+8 <= len(text); i += 8 {
		if found := special(load(text, i)); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// load reads eight bytes in little-endian order.
func load[Text ~[]byte | ~string](t Text, i int) uint64 {
	t = t[i : i+8]
	return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
		uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
}

// special checks eight bytes at once and sets the high bit of each that is not plain. The
// lowest bit that is set is always correct. Subtraction sets the bit of an ASCII
// character that is smaller than the subtrahend. To include the quote, an XOR first exchanges
// quote and space. A borrow can set wrong bits, but only above a bit that is set.
func special(eight uint64) uint64 {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	controls := (eight ^ ones*(' '^'"')) - ones*(' '+1)
	backslashes := (eight ^ ones*'\\') - ones
	return (controls | backslashes) &^ eight & highs
}
