package uritemplate

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// Spec: RFC 3986 2.3
func isUnreserved(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("-._~", c) >= 0
}

// Spec: RFC 3986 2.2
func isReserved(c byte) bool {
	return strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0
}

// unitSize returns the size of the first character of text, literal or percent-encoded. It
// is 0 if text does not begin with a character that is allowed in a URI or an IRI.
func unitSize(text string) int {
	switch c := text[0]; {
	case c == '%':
		return encodedSize(text)
	case c < utf8.RuneSelf:
		if isUnreserved(c) || isReserved(c) {
			return 1
		}
		return 0
	}
	const firstPrintable = '\u00a0' // the characters before it are control characters
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && size == 1 || r < firstPrintable {
		return 0
	}
	return size
}

// encodedSize returns the size of a percent-encoded character in UTF-8, which may consist of
// several triplets.
func encodedSize(text string) int {
	var decoded [utf8.UTFMax]byte
	n := 0
	for n < len(decoded) && isTriplet(text[3*n:]) {
		decoded[n] = unhex(text[3*n+1])<<4 | unhex(text[3*n+2])
		n++
	}
	r, size := utf8.DecodeRune(decoded[:n])
	if r == utf8.RuneError && size <= 1 {
		return 0
	}
	return 3 * size
}

// isTriplet reports whether text begins with a percent-encoded byte.
func isTriplet(text string) bool {
	return len(text) >= 3 && text[0] == '%' && isHex(text[1]) && isHex(text[2])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

// encode percent-encodes all characters except unreserved ones and, if reserved is set,
// except reserved characters and triplets.
func encode(text string, reserved bool) string {
	const digits = "0123456789ABCDEF"
	var encoded strings.Builder
	for i := range len(text) {
		c := text[i]
		if isUnreserved(c) || reserved && (isReserved(c) || isTriplet(text[i:])) {
			encoded.WriteByte(c)
			continue
		}
		encoded.Write([]byte{'%', digits[c>>4], digits[c&0xf]})
	}
	return encoded.String()
}

// decode undoes the percent-encoding of text, which consists of units.
func decode(text string) string {
	decoded, _ := url.PathUnescape(text) // units have complete triplets
	return decoded
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}
