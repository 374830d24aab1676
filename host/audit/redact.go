package audit

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// hidden takes the place of what is left out.
const hidden = "[hidden]"

// leastSecret is the length from which a text can be told from an ordinary word.
const leastSecret = 6

// secretLike matches what is probably a secret, wherever it comes from.
var secretLike = regexp.MustCompile(strings.Join([]string{
	`(?i:bearer|basic)\s+[\w.~+/=-]{6,}`,
	`\b(?:sk|pk|rk)-[\w-]{8,}`,
	`\bgh[pousr]_\w{8,}`,
	`\bgithub_pat_\w{8,}`,
	`\bxox[abeoprs]-[\w-]{8,}`,
	`\bA[KS]IA[0-9A-Z]{12,}`,
	`\beyJ[\w-]+\.[\w-]+\.[\w-]*`,
	`(?i:token|key|secret|passw(?:or)?d|signature|code)=[^&\s"']+`,
	`://[^/\s@]+@`,
}, "|"))

// redactor leaves secrets out of texts.
type redactor struct{ known *strings.Replacer }

// newRedactor returns one that knows some secrets. Of two that overlap the longer
// is found first.
func newRedactor(secrets []string) redactor {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < leastSecret })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, hidden)
	}
	return redactor{strings.NewReplacer(pairs...)}
}

func (r redactor) redact(s string) string {
	if r.known != nil {
		s = r.known.Replace(s)
	}
	return secretLike.ReplaceAllString(s, hidden)
}
