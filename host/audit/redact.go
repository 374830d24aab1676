package audit

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// hidden replaces each secret.
const hidden = "[hidden]"

// minSecret is the length below which a text is treated as an ordinary word.
const minSecret = 6

// secretLike matches what is probably a secret, whatever its source.
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

// redactor removes secrets from texts.
type redactor struct{ known *strings.Replacer }

// newRedactor returns a redactor for the given secrets. If two overlap, the longer one is
// matched first.
func newRedactor(secrets []string) redactor {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
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
