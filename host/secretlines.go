package host

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/internal/secretname"
)

// namedValue matches the name of a value and the first character of that, without quotes: "name: value"
// and "--name value".
var namedValue = regexp.MustCompile(`([\w.-]+)(?:\\*["'])?[ \t]*:[ \t]*([^\s:=/"'\\{}\[\],;])|(?:^|[\s"'(])--?([A-Za-z][\w-]*)[ \t]+([^\s="'\\{}\[\],;-])`)

// hideNamedValues hides the values of secrets that have no quotes. The same form is common in
// prose, such as "token: not found", so a word of prose is shown, and the value of a name that often
// means something else is hidden only if it looks like a secret.
func hideNamedValues(text string) string {
	if !strings.ContainsAny(text, ":-") {
		return text
	}
	var b strings.Builder
	for {
		at := namedValue.FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + text
		}
		name, value := 2, 4
		if at[name] < 0 {
			name, value = 6, 8
		}
		start := at[value]
		if n := secretLength(text[at[name]:at[name+1]], text[start:]); n > 0 {
			b.WriteString(text[:start] + Hidden)
			start += n
		} else {
			b.WriteString(text[:start])
		}
		text = text[start:] // the rest of the line may have further names
	}
}

// lineNames are names whose values go to the end of the line, because they have several words.
var lineNames = []string{"cookie", "cookies", "authorization", "passphrase", "phrase", "mnemonic"}

// secretLength returns how much of a text is the secret value of a name, 0 for nothing.
func secretLength(name, text string) int {
	if !mayNameSecret(name) {
		return 0
	}
	line := text
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		line = text[:end]
	}
	all := secretname.Words(name)
	word := line
	if end := strings.IndexAny(line, " \t&,;\"'<>(){}[]"); end >= 0 {
		word = line[:end]
	}
	last := all[len(all)-1]
	isLine := slices.Contains(lineNames, last)
	switch {
	case strings.HasPrefix(line, Hidden), proseWords[strings.ToLower(strings.TrimRight(word, ".:!?"))], strings.HasPrefix(line[len(word):], "("):
		return 0
	case secretname.Mean(all, secretname.Text) && !strings.HasSuffix(last, "s"), isLine && strings.ContainsAny(line, "=0123456789"), looksRandom(word), slices.Contains(all, "pin") && isNumber(word):
		if isLine {
			return len(strings.TrimRight(line, " \t"))
		}
		return len(word)
	}
	return 0
}

// looksRandom reports whether a word is one that nobody has chosen to be read: long, with letters
// and digits.
func looksRandom(word string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return len(word) >= 8 && strings.ContainsAny(word, "0123456789") && strings.ContainsAny(word, letters) && !strings.Contains(word, "/")
}

func isNumber(word string) bool { return len(word) >= 4 && strings.Trim(word, "0123456789") == "" }

// proseWords are words that follow the name of a secret in texts that do not have it.
var proseWords = func() map[string]bool {
	all := make(map[string]bool)
	for word := range strings.FieldsSeq(`a absent accepted already an and any are as at authentication bad be between bool boolean by can cannot
		changed could denied did disabled do does duplicate either empty enabled error expected expired failed failure false field for forbidden
		format found from has have hidden if illegal in incorrect insufficient int integer invalid is it its length line malformed many may
		mismatch missing more must need needed needs neither never new nil no none not null number object of off ok omitted on only
		optional or permission please policy read redacted refused rejected required requires revoked see set should since string success that
		the this to too true two type unable unauthorized undefined unexpected unknown unset unsupported until use used uses valid value want was weak
		when while will with without wrong yes you your`) {
		all[word] = true
	}
	return all
}()
