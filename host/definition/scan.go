package definition

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fondaco/fondaco/host"
)

const (
	// maxFindings limits the findings in one definition, and maxExcerpt the text that one
	// quotes, in characters.
	maxFindings = 5
	maxExcerpt  = 60
	// minSecret is the minimum size in bytes of a configured secret that is searched for.
	minSecret = 10
)

// scanner searches definitions for texts that a user should see before a model does. It finds
// what is hidden or imitates something; it cannot recognize every instruction to a model.
type scanner struct {
	ownTools map[string]bool
	// others are the keys of the other servers, and otherTools distinctive names of their
	// tools, with the server of each.
	others     []string
	otherTools map[string]string
	secrets    []string
}

func newScanner(u *host.Upstream, l *host.Listing, secrets []string) *scanner {
	s := &scanner{ownTools: make(map[string]bool), otherTools: make(map[string]string)}
	for i := range l.Tools {
		s.ownTools[l.Tools[i].Name] = true
	}
	for _, key := range slices.Sorted(maps.Keys(l.Others)) {
		if key == u.Key {
			continue
		}
		s.others = append(s.others, key)
		for _, name := range l.Others[key] {
			if isDistinctive(name) {
				s.otherTools[name] = key
			}
		}
	}
	for _, secret := range secrets {
		if looksSecret(secret) && !slices.Contains(s.secrets, secret) {
			s.secrets = append(s.secrets, secret)
		}
	}
	return s
}

// looksSecret reports whether a value of a configuration may be a secret: no word, path or
// address.
func looksSecret(value string) bool {
	return len(value) >= minSecret && !strings.ContainsAny(value, " \t\n/\\") && strings.ContainsAny(value, "0123456789") &&
		strings.ContainsFunc(value, unicode.IsLetter)
}

// isDistinctive reports whether the name of a tool is no common word.
func isDistinctive(name string) bool {
	return len(name) >= 8 && (strings.ContainsAny(name, "_-.") || strings.ToLower(name[1:]) != name[1:])
}

// findings describes what is suspicious in a definition, for people.
func (s *scanner) findings(i *item) (found []string) {
	add := func(what, excerpt string) {
		text := what
		if excerpt != "" {
			text += ": " + quoteExcerpt(excerpt)
		}
		if len(found) < maxFindings && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	d := jsontext.NewDecoder(bytes.NewReader(i.text))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return found
		}
		if token.Kind() != '"' {
			continue
		}
		text := token.String()
		if isImage(text) {
			continue
		}
		if at := hiddenAt(text); at >= 0 {
			add("hidden text", around(text, at))
		}
		lower := strings.ToLower(text)
		for _, imitation := range imitations {
			if !containsAny(lower, imitation.words) {
				continue
			}
			if at := imitation.pattern.FindStringIndex(text); at != nil {
				add("it gives instructions to the model", text[at[0]:])
			}
		}
		s.scanOthers(text, add)
		s.scanSecrets(text, add)
	}
}

func (s *scanner) scanOthers(text string, add func(what, excerpt string)) {
	if key := host.Imitated(text, s.others); key != "" {
		add(fmt.Sprintf("it names the server %q or imitates it", key), "")
	}
	if len(s.otherTools) == 0 {
		return
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}) {
		word = strings.Trim(word, ".-")
		if key, ok := s.otherTools[word]; ok && !s.ownTools[word] {
			add(fmt.Sprintf("it names a tool of the server %q", key), word)
		}
	}
}

func (s *scanner) scanSecrets(text string, add func(what, excerpt string)) {
	for _, secret := range s.secrets {
		if strings.Contains(text, secret) {
			add("it contains a secret of your configuration", "")
		}
	}
	for _, m := range host.FindSecrets(text, maxFindings) {
		if !isPlaceholder(m) {
			add("it contains what looks like a secret", m[:min(len(m), 8)])
		}
	}
}

// isImage reports whether a text is an image in a data URL and nothing else.
func isImage(text string) bool {
	kind, content, ok := strings.Cut(text, ";base64,")
	return ok && strings.HasPrefix(kind, "data:image/") && !strings.ContainsFunc(kind+content, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+/=:.-", r))
	})
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// imitations match texts that give a model instructions about other tools or the user, or that
// imitate the markup of a conversation. Each is rare in descriptions that say what a tool does.
// A text without any of the words does not match.
var imitations = []struct {
	words   []string
	pattern *regexp.Regexp
}{
	{[]string{"<"}, regexp.MustCompile(`(?i)<\s*/?\s*(?:important|system|assistant|human|instructions?|secret|hidden|system[-_ ](?:prompt|reminder|message))\s*>`)},
	{[]string{"<|", "inst]", "sys>"}, regexp.MustCompile(`(?i)<\|(?:im_start|im_end|system|user|assistant|endoftext)[^>]{0,20}\|>|\[/?INST\]|<</?SYS>>`)},
	{[]string{"ignore", "disregard", "forget", "override"}, regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override)\s+(?:(?:all|any|the|your|every|these|those)\s+){0,3}(?:previous|prior|above|earlier|other|existing|preceding|system)\s+(?:instructions?|prompts?|rules?|messages?|directions?|guidelines?)`)},
	{[]string{"do not", "don't", "never", "must not"}, regexp.MustCompile(`(?i)\b(?:do\s+not|don't|never|must\s+not)\s+(?:\w+\s+){0,2}?(?:tell|mention|inform|reveal|notify|show|disclose|let)\s+(?:\w+\s+){0,4}?(?:the\s+|your\s+)?(?:user|human|person)\b`)},
	{[]string{"without"}, regexp.MustCompile(`(?i)\bwithout\s+(?:telling|informing|notifying|alerting|mentioning\s+(?:it|this|that)\s+to)\s+(?:the\s+|your\s+)?(?:user|human|anyone)\b`)},
	{[]string{"hide", "conceal", "keep"}, regexp.MustCompile(`(?i)\b(?:hide|conceal|keep)\s+(?:\w+\s+){1,4}?(?:from\s+the\s+(?:user|human)|secret|hidden\s+from)\b`)},
	{[]string{"before", "after", "instead", "when"}, regexp.MustCompile(`(?i)\b(?:before|after|instead\s+of|when(?:ever)?)\s+(?:you\s+)?(?:using|use|calling|call|invoking|invoke|running|run)\s+(?:any|every|all|each)(?:\s+of\s+the)?\s+(?:other\s+)?(?:tools?|functions?)\b`)},
	{[]string{"ssh/", "aws/", "id_rsa", "id_ed25519", ".env", "etc/passwd", "mcp.json", "claude_desktop_config"}, regexp.MustCompile(`(?i)\b(?:read|send|include|pass|attach|copy|append|upload)\s+(?:\w+\s+){0,4}?(?:contents?\s+of\s+)?["'` + "`" + `]?(?:~/|/etc/|\$HOME/)?\.?(?:ssh/|aws/|id_rsa|id_ed25519|\.env\b|etc/passwd|cursor/mcp\.json|claude_desktop_config)`)},
	{[]string{"override", "replace", "supersede"}, regexp.MustCompile(`(?i)\b(?:this|it)\s+(?:tool\s+)?(?:overrides?|replaces?|supersedes?)\s+(?:all\s+|any\s+|every\s+|the\s+)?(?:other|previous|existing)\s+(?:tools?|servers?|instructions?)\b`)},
}

// isPlaceholder reports whether a text has the form of a secret and is an example of one.
func isPlaceholder(text string) bool {
	upper := strings.ToUpper(text)
	if strings.Contains(upper, "EXAMPLE") || strings.Contains(upper, "XXXX") || strings.Contains(upper, "YOUR") {
		return true
	}
	different := make(map[rune]bool)
	for _, r := range text[min(len(text), 8):] {
		different[r] = true
	}
	return len(different) < 6
}

// hiddenAt returns the index of the first character that people do not see, or -1. Marks that
// belong to emoji and to scripts that are written with them are seen.
func hiddenAt(text string) int {
	previous := rune(0)
	for i, r := range text {
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		if isHidden(previous, r, next) {
			return i
		}
		previous = r
	}
	return -1
}

func isHidden(previous, r, next rune) bool {
	switch {
	case r == '\n' || r == '\r' || r == '\t' || r < unicode.MaxASCII && unicode.IsPrint(r):
		return false
	case r == '\ufe0e' || r == '\ufe0f': // how an emoji is shown
		return !isSymbol(previous)
	case r == '\u200d' && (isSymbol(previous) || previous == '\ufe0f' || previous >= 0x1f3fb && previous <= 0x1f3ff) && isSymbol(next):
		return false
	case unicode.Is(unicode.Zs, r): // spaces of other widths
		return false
	case (r == '\u200c' || r == '\u200d') && joins(previous):
		return false
	}
	return !host.IsShown(r)
}

// isSymbol reports whether an emoji may begin with a character.
func isSymbol(r rune) bool {
	return unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r) || unicode.Is(unicode.Po, r) || unicode.IsDigit(r) || unicode.Is(unicode.Sk, r)
}

// joins reports whether a character is of a script whose letters zero-width marks join.
func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada,
		unicode.Malayalam, unicode.Mongolian, unicode.Oriya, unicode.Sinhala, unicode.Syriac, unicode.Tamil, unicode.Telugu)
}

// around returns the text at an index with some characters before it.
func around(text string, at int) string {
	start := at
	for range maxExcerpt / 3 {
		if start == 0 {
			break
		}
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	return text[start:]
}

// quoteExcerpt returns the beginning of a text with its hidden characters escaped.
func quoteExcerpt(text string) string {
	runes := []rune(text[:min(len(text), 4*maxExcerpt)])
	cut := len(runes) > maxExcerpt
	if cut {
		runes = runes[:maxExcerpt]
	}
	var b strings.Builder
	previous := rune(0)
	for i, r := range runes {
		next := rune(0)
		if i+1 < len(runes) {
			next = runes[i+1]
		}
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case isHidden(previous, r, next):
			b.WriteString(host.EscapeUnprintable(string(r)))
		default:
			b.WriteRune(r)
		}
		previous = r
	}
	if cut {
		b.WriteString("…")
	}
	return `"` + b.String() + `"`
}
