// Package lookalike says what a text looks like to a person, for code that searches texts of peers for words: a letter of another
// script may stand for a Latin one, and a character may not be shown at all. The library and the host share it.
package lookalike

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// invisible are the characters that count as printable (letters, marks or symbols), but that
// terminals and browsers show as nothing or as a space. Controls, formats such as
// bidirectional overrides and tags, separators other than the space, private and unassigned
// characters are not printable in the first place.
//
// Spec: Unicode, properties Default_Ignorable_Code_Point and Variation_Selector
var invisible = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, // fillers of Hangul, the grapheme joiner, vowels of Khmer
	unicode.Variation_Selector,
	{
		R16: []unicode.Range16{
			{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // blank Braille pattern
			{Lo: 0xfffc, Hi: 0xfffc, Stride: 1}, // object replacement
		},
		R32: []unicode.Range32{
			{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // blanks of Egyptian hieroglyphs
			{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // filler of the Khitan small script
			{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // musical null notehead
		},
	},
}

// IsShown reports whether terminals and browsers show a character as itself.
func IsShown(r rune) bool {
	return r < utf8.RuneSelf && ' ' <= r && r < 0x7f || r >= utf8.RuneSelf && unicode.IsPrint(r) && !unicode.In(r, invisible...)
}

// latin maps characters to the Latin letter or digit that they look like in most fonts.
// Characters that NFKD maps to ASCII, such as those of full width, need no entry.
//
// Spec: Unicode Technical Standard 39, section 4, of which these are the letters in names
var latin = latinMap(
	"aаɑα", "bЬƅВвΒβ", "cсϲⅽ", "dԁɗ", "eеҽєε", "fғ", "gɡց", "hһհНнΗ", "iіıɩιɪ", "jјϳ", "kкκ", "lӏⅼᛁ", "mмμ", "nոпΝη", "oоοօσ",
	"pрρ", "qԛգ", "rгᴦ", "sѕꜱ", "tтτ", "uυսᴜ", "vνѵ", "wԝѡաω", "xхχ", "yуүγ", "zᴢζ", "3зʒ", "4ч",
)

func latinMap(sets ...string) map[rune]rune {
	m := make(map[rune]rune)
	for _, set := range sets {
		letters := []rune(set)
		for _, r := range letters[1:] {
			m[r] = letters[0]
		}
	}
	return m
}

// Fold returns a text in small Latin letters as far as it looks so, without marks and
// without characters that are not shown.
func Fold(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !isPrintableASCII(r) }) {
		return strings.ToLower(text)
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) && (IsShown(r) || unicode.IsSpace(r)) {
			b.WriteRune(fold(r))
		}
	}
	return b.String()
}

func isPrintableASCII(r rune) bool { return ' ' <= r && r <= '~' }

// fold returns the small letter or the digit that a character looks like.
func fold(r rune) rune {
	if like, ok := latin[r]; ok {
		return like
	}
	r = unicode.ToLower(r)
	if like, ok := latin[r]; ok {
		return like
	}
	return r
}

// Words returns the words of a text: sequences of letters and digits. Characters that are not
// shown separate no words.
func Words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		if isPrintableASCII(r) { // most are
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
		}
		return IsShown(r) && !unicode.In(r, unicode.L, unicode.Nd, unicode.M, unicode.Nl) || unicode.IsSpace(r)
	})
}
