package host

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// lookalikes maps characters to the Latin letter or digit that they look like in most fonts.
// Characters that NFKD maps to ASCII, such as those of full width, need no entry.
//
// Spec: Unicode Technical Standard 39, section 4, of which these are the letters in names
var lookalikes = lookalikeMap(
	"aаɑα", "bЬƅВвΒβ", "cсϲⅽ", "dԁɗ", "eеҽєε", "fғ", "gɡց", "hһհНнΗ", "iіıɩιɪ", "jјϳ", "kкκ", "lӏⅼᛁ", "mмμ", "nոпΝη", "oоοօσ",
	"pрρ", "qԛգ", "rгᴦ", "sѕꜱ", "tтτ", "uυսᴜ", "vνѵ", "wԝѡաω", "xхχ", "yуүγ", "zᴢζ", "3зʒ", "4ч",
)

func lookalikeMap(sets ...string) map[rune]rune {
	m := make(map[rune]rune)
	for _, set := range sets {
		letters := []rune(set)
		for _, r := range letters[1:] {
			m[r] = letters[0]
		}
	}
	return m
}

// foldLookalikes returns a text in small Latin letters as far as it looks so, without marks and
// without characters that are not shown.
func foldLookalikes(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !isPrintableASCII(r) }) {
		return strings.ToLower(text)
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) && (IsShown(r) || unicode.IsSpace(r)) {
			b.WriteRune(lookalike(r))
		}
	}
	return b.String()
}

func isPrintableASCII(r rune) bool { return ' ' <= r && r <= '~' }

// lookalike returns the small letter or the digit that a character looks like.
func lookalike(r rune) rune {
	if like, ok := lookalikes[r]; ok {
		return like
	}
	r = unicode.ToLower(r)
	if like, ok := lookalikes[r]; ok {
		return like
	}
	return r
}

// alikeInASCII replaces characters of ASCII by one for all that look alike.
var alikeInASCII = strings.NewReplacer("rn", "m", "1", "l", "i", "l", "|", "l", "0", "o")

// skeleton returns what a text looks like: without marks, case and characters that are not
// shown, and with one letter for all that look alike.
func skeleton(text string) string { return alikeInASCII.Replace(foldLookalikes(text)) }

// words returns the words of a text: sequences of letters and digits. Characters that are not
// shown separate no words.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		if isPrintableASCII(r) { // most are
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
		}
		return IsShown(r) && !unicode.In(r, unicode.L, unicode.Nd, unicode.M, unicode.Nl) || unicode.IsSpace(r)
	})
}

// joined returns a text without what separates its words, as it looks.
func joined(text string) string { return strings.Join(words(skeleton(text)), "") }

// Imitated returns the key among the given ones whose server a text of another server
// imitates, or "". It does if it contains
//
//   - a word that looks like the key but is not spelled so, such as one with Cyrillic letters
//     or a character that is not shown, except that case does not count;
//   - a wire name of the server, such as github__search;
//   - words that speak for the server: "server github", "github server", "github says".
//
// The name alone, spelled as it is, does not imitate the server in a text. In a title it may,
// see ImitatedTitle.
func Imitated(text string, keys []string) string {
	spelled := words(text)
	looks := make([]string, len(spelled))
	for i, word := range spelled {
		looks[i] = skeleton(word)
	}
	lower := strings.ToLower(norm.NFKC.String(text))
	for _, key := range keys {
		look := skeleton(key)
		parts := words(look)
		if containsWireName(lower, key) {
			return key
		}
		for i := range looks {
			switch {
			case looks[i] == look && !strings.EqualFold(spelled[i], key):
				return key
			case !hasParts(looks[i:], parts):
			case i > 0 && looks[i-1] == "server", i+len(parts) < len(looks) && slices.Contains(speakers, looks[i+len(parts)]):
				return key
			case !strings.EqualFold(strings.Join(spelled[i:i+len(parts)], "-"), key):
				return key
			}
		}
	}
	return ""
}

// speakers follow the name of a server in texts that speak for it. They are skeletons.
var speakers = []string{skeleton("server"), skeleton("says"), skeleton("asks"), skeleton("mcp")}

// hasParts reports whether words begin with the given ones.
func hasParts(all, parts []string) bool {
	return len(parts) > 0 && len(all) >= len(parts) && slices.Equal(all[:len(parts)], parts)
}

// containsWireName reports whether a text contains a wire name of a server.
func containsWireName(lower, key string) bool {
	wire := WireName(key, "")
	for {
		before, after, found := strings.Cut(lower, wire)
		if !found {
			return false
		}
		if before == "" || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", rune(before[len(before)-1])) {
			return true
		}
		lower = after
	}
}

// ImitatedTitle is Imitated for a title or another short text that stands for its server. The
// name of another server must not be the whole title, nor stand in front of it: "GitHub",
// "[github] search", "GitHub: search" and "github/search" imitate the server github.
func ImitatedTitle(title string, keys []string) string {
	whole := joined(title)
	front := skeleton(strings.TrimLeftFunc(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	for _, key := range keys {
		look := joined(key)
		if whole == look {
			return key
		}
		for _, form := range []string{skeleton(key), look} {
			if rest, ok := strings.CutPrefix(front, form); ok && strings.ContainsAny(rest[:min(len(rest), 1)], ":/])}>|") {
				return key
			}
		}
	}
	return Imitated(title, keys)
}
