// Package hostiletext has texts that terminals and browsers obey, do not show, or show as
// something else, for tests of everything that shows texts of peers.
package hostiletext

import (
	"strings"
	"unicode"
)

// written are texts as attackers write them.
var written = []string{
	// C0, DEL, and what moves the cursor.
	"\x00", "\x01\x02\x03\x04", "\x05", "a\bb", "safe\rfake", "\v\f", "\x0e\x0f", "\x18\x1a", "\x1c\x1d\x1e\x1f", "\x7f", "bell\a",
	// ESC: colours, the screen, modes, reports, character sets.
	"\x1b[31mred", "\x1b[0m", "\x1b[2J\x1b[H", "\x1b[1A\x1b[2K", "\x1b[?1049h", "\x1b[?25l", "\x1b[6n", "\x1b[c", "\x1b[>0q", "\x1b[?2004l",
	"\x1b[?1000h", "\x1b[8m", "\x1b[21t", "\x1b[3g", "\x1bc", "\x1b7\x1b8", "\x1b#8", "\x1b%G", "\x1b(0", "\x1bD", "\x1b", "~~~\x1b[200~",
	// OSC, DCS, APC, PM, SOS.
	"\x1b]0;title\a", "\x1b]2;title\x1b\\", "\x1b]52;c;aGk=\a", "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "\x1b]4;1;rgb:00/00/00\a",
	"\x1b]10;?\a", "\x1b]1337;File=:\a", "\x1b]777;notify;a;b\a", "\x1bP+q544e\x1b\\", "\x1b_G\x1b\\", "\x1b^x\x1b\\", "\x1bXx\x1b\\",
	// C1.
	"\u009b31m", "\u0090q\u009c", "\u009d0;t\u009c", "\u0085next", "\u0084\u008d", "\u009f\u009e",
	// Direction, and what is not seen.
	"\u202Eevil\u202C", "\u202A\u202B\u202D", "\u2066a\u2069", "\u2067\u2068", "\u200Ehidden\u200F", "\u061C", "zero\u200Bwidth", "\u200C\u200D", "\u2060",
	"\uFEFFbom", "soft\u00ADhyphen", "tag\U000E0041", "line\u2028sep\u2029par", "\uFFF9a\uFFFAb\uFFFB", "\u180E", "\u00A0",
	// Bytes in variation selectors, words in tags, names of blanks.
	"\u2764\ufe0f", "a\ufe00\ufe01\ufe0e", "smile\U000E0101\U000E0102\U000E01EF", "\U000E0069\U000E0067\U000E006E\U000E006F\U000E0072\U000E0065\U000E007F",
	"\u3164", "\u115F\u1160", "\uFFA0", "\u2800\u2800", "gap\u034Fgap", "\u17B4\u17B5", "\u180B\u180C\u180D\u180F", "\uFFFC", "\U0001D159", "\U00016FE4", "\U00013441",
	"\u2000\u2001\u2002\u2003", "\u2007\u2008\u2009\u200A", "\u202F\u205F\u3000", "\u1680", "github\u200B", "\u2061\u2062\u2063\u2064", "\u206A\u206F",
	"\U0001BCA0\U0001BCA3", "\U0001D173\U0001D17A", "\u0600\u06DD\u070F\u08E2", "\U000110BD\U000110CD",
	// No characters at all.
	"\xff\xfe\x80", "\xc0\x9b", "\xe2\x80", "\U0010FFFF", "private\uE000", "\uFFFE", "\U000F0000", "\U000E0FFF", "\ufdd0", "\xed\xa0\x80", "\xf4\x90\x80\x80",
}

// Texts returns at least 300 texts: those that attackers write, and one with each character that
// Unicode says is a control, a format, a separator or ignorable, up to 100 of each property.
func Texts() []string {
	texts := append([]string(nil), written...)
	known := make(map[rune]bool)
	for _, property := range []*unicode.RangeTable{
		unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Bidi_Control, unicode.Join_Control, unicode.Noncharacter_Code_Point,
	} {
		n := 0
		for r := range runes(property) {
			if plain := r == ' ' || r == '\n' || r == '\t'; plain || known[r] {
				continue
			}
			if n++; n > 100 {
				break
			}
			known[r] = true
			texts = append(texts, "a"+string(r)+"b")
		}
	}
	return texts
}

// runes yields the characters of a table.
func runes(t *unicode.RangeTable) func(yield func(rune) bool) {
	return func(yield func(rune) bool) {
		for _, r := range t.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				if !yield(c) {
					return
				}
			}
		}
		for _, r := range t.R32 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// blanks are characters that have no property which says that they are not shown.
const blanks = "\u2800\uFFFC\U00013441\U00013442\U00016FE4\U0001D159"

// Unshown returns the index of the first byte of a text that is not shown as itself, or -1.
// Characters of keep count as shown.
func Unshown(text, keep string) int {
	for i, r := range text {
		switch {
		case strings.ContainsRune(keep, r):
		case r == unicode.ReplacementChar, !unicode.IsPrint(r), strings.ContainsRune(blanks, r),
			unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return i
		}
	}
	return -1
}
