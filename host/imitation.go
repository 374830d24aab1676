package host

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/fondaco/fondaco/internal/lookalike"
)

// alikeInASCII replaces characters of ASCII by one for all that look alike.
var alikeInASCII = strings.NewReplacer("rn", "m", "1", "l", "i", "l", "|", "l", "0", "o")

// skeleton returns what a text looks like: without marks, case and characters that are not
// shown, and with one letter for all that look alike.
func skeleton(text string) string { return alikeInASCII.Replace(lookalike.Fold(text)) }

// joined returns a text without what separates its words, as it looks.
func joined(text string) string { return strings.Join(lookalike.Words(skeleton(text)), "") }

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
	spelled := lookalike.Words(text)
	looks := make([]string, len(spelled))
	for i, word := range spelled {
		looks[i] = skeleton(word)
	}
	lower := strings.ToLower(norm.NFKC.String(text))
	for _, key := range keys {
		look := skeleton(key)
		parts := lookalike.Words(look)
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
