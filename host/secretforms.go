package host

import (
	"fmt"
	"regexp"
	"strings"
)

// secretForms are the forms that services give their secrets: a mark, the characters that follow
// it, and their minimum number.
var secretForms = []struct {
	mark, characters string
	min              int
}{
	{`A[KS]IA`, `[0-9A-Z]`, 16},
	{`gh[pousr]_`, `[0-9A-Za-z]`, 36},
	{`github_pat_`, `\w`, 50},
	{`glpat-`, `[\w-]`, 20},
	{`[spr]k-(?:ant-|proj-)?`, `[\w-]`, 32},
	{`[spr]k_live_`, `[0-9A-Za-z]`, 20},
	{`xox[abeoprs]-`, `[0-9A-Za-z-]`, 20},
	{`AIza`, `[\w-]`, 35},
	{`npm_`, `[0-9A-Za-z]`, 36},
	{`hf_`, `[0-9A-Za-z]`, 34},
	{`ya29\.`, `[\w-]`, 20},
	{`dop_v1_`, `[0-9a-f]`, 64},
	{`xapp-`, `[0-9A-Za-z-]`, 20},
	{`whsec_`, `[0-9A-Za-z+/=]`, 20},
	{`SG\.`, `[\w.-]`, 40},
	{`pypi-`, `[\w-]`, 50},
}

// minHidden is the minimum for texts in which secrets are hidden, because they may have been cut.
const minHidden = 8

var (
	wholeSecret = secretExpression(func(n int) int { return n },
		`\beyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{15,}`, `-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s*[A-Za-z0-9+/]{20}`)
	anySecret = secretExpression(func(int) int { return minHidden },
		`\beyJ[\w-]+\.[\w-]+\.[\w-]*`, `-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`,
		`(?i:bearer|basic)\s+[\w.~+/=-]{6,}`, `://[^/\s@]+@`)
)

// secretExpression returns an expression for the secretForms, with their minimums changed, and
// further forms.
func secretExpression(minimum func(n int) int, further ...string) *regexp.Regexp {
	for _, form := range secretForms {
		further = append(further, fmt.Sprintf(`\b%s%s{%d,}`, form.mark, form.characters, minimum(form.min)))
	}
	return regexp.MustCompile(strings.Join(further, "|"))
}

// FindSecrets returns up to n parts of a text that have the whole form of a secret, such as the
// token of a service.
func FindSecrets(text string, n int) []string { return wholeSecret.FindAllString(text, n) }

// userOfURL matches the user of a URL that has no password, such as that of git@.
var userOfURL = regexp.MustCompile(`://[\w.-]+@`)

// IsSecretValue reports whether a value is probably a secret, by the name that it has or by its form.
// The name may be empty.
func IsSecretValue(name, value string) bool {
	if value == "" {
		return false
	}
	plain := userOfURL.ReplaceAllLiteralString(value, "://")
	return mayNameSecret(name) || wholeSecret.MatchString(value) || HideSecrets(plain) != plain
}

// Hidden is the text in the place of a secret that is not shown.
const Hidden = "[hidden]"

// HideSecrets returns a text with Hidden in the place of what is probably a secret, by its form or by
// the name that the text gives it: it hides more than FindSecrets finds.
func HideSecrets(text string) string {
	text = anySecret.ReplaceAllLiteralString(text, Hidden)
	var b strings.Builder
	end := 0 // of what is written
	for _, at := range assignment.FindAllStringSubmatchIndex(text, -1) {
		if at[0] < end || !mayNameSecret(text[at[2]:at[3]]) {
			continue
		}
		quote := ""
		if at[4] >= 0 {
			quote = text[at[4]:at[5]]
		}
		n := valueLength(text[at[1]:], quote)
		if strings.EqualFold(text[at[2]:at[3]], "code") && errorName.MatchString(text[at[1]:at[1]+n]) {
			continue
		}
		b.WriteString(text[end:at[1]])
		b.WriteString(Hidden)
		end = at[1] + n
	}
	return hideNamedValues(b.String() + text[end:])
}

// errorName matches the name of an error in capital letters, which programs write as the value of code, too:
// MODULE_NOT_FOUND, and those that operating systems have.
var errorName = regexp.MustCompile(`^(?:[A-Z]{2,}(?:_[A-Z]{2,})+|E(?:NOENT|NOTFOUND|ACCES|PERM|INVAL|EXIST|ISDIR|NOTDIR|NOEXEC|NOSPC|MFILE|ROFS|PIPE|TIMEDOUT|TIMEOUT|PROTO|BADF|` +
	`ADDRINUSE|ADDRNOTAVAIL|CONN(?:REFUSED|RESET|ABORTED)|HOSTUNREACH|NETUNREACH))$`)

// assignment matches the name of a value in a text and what follows up to the value, with its
// opening quote: name=, name = ", name: ' and "name": ". In JSON texts within others, backslashes
// are in front of the quotes.
var assignment = regexp.MustCompile(`([\w.-]+)(?:(?:\\*["'])?(?:[ \t]*=[=>]?[ \t]*|\s*:=?\s*)(\\*["'])|=)`)

// valueLength returns the length of a value at the beginning of a text, up to its closing quote or,
// without quotes, to what separates values. A value without its closing quote is the whole text.
func valueLength(text, quote string) int {
	if quote == "" {
		if end := strings.IndexAny(text, "& \t\r\n\"'"); end >= 0 {
			return end
		}
		return len(text)
	}
	backslashes := 0 // in front of text[i]
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			backslashes++
			continue
		}
		// A backslash of the value is written as 2*len(quote) of them. Of the rest, a quote within the
		// value has more than the opening quote.
		if own := backslashes % (2 * len(quote)); text[i] == quote[len(quote)-1] && own < len(quote) {
			if !strings.HasPrefix(text[i+1:], quote) {
				return i - own
			}
			i += len(quote) // a quote that is written twice is one of the value
		}
		backslashes = 0
	}
	return len(text)
}
