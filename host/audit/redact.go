package audit

import (
	"cmp"
	"encoding/json/jsontext"
	"net/url"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// minSecret is the length below which a text is treated as an ordinary word.
const minSecret = 6

// redactor removes secrets from texts.
type redactor struct{ known *strings.Replacer }

// newRedactor returns a redactor for the given secrets. If two overlap, the longer one is
// matched first.
func newRedactor(secrets []string) redactor {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, s := range secrets {
		for _, form := range append(urlForms(s), jsonForm(s), s) {
			pairs = append(pairs, form, host.Hidden)
		}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// urlForms returns a text as it is in the queries and paths of URLs.
func urlForms(s string) []string {
	query := url.QueryEscape(s)
	return []string{query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(s)}
}

// jsonForm returns a text as it is in a JSON string.
func jsonForm(s string) string {
	quoted, _ := jsontext.AppendQuote(nil, s)
	return string(quoted[1 : len(quoted)-1])
}

// maxRedacted limits the text that is searched for secrets. What follows would be cut
// anyway.
const maxRedacted = 16 << 10

func (r redactor) redact(s string) string {
	if s == "" {
		return s
	}
	return r.redactAll(s[:min(len(s), maxRedacted)]) // of which the beginning is recorded
}

func (r redactor) redactAll(s string) string {
	if r.known != nil {
		s = r.known.Replace(s)
	}
	return host.HideSecrets(s)
}

// redactName is redact for the name of a tool, a prompt or a resource. Of a URL it also
// hides the user, the values of parameters with the name of a secret, and the fragment.
func (r redactor) redactName(s string) string {
	if scheme, _, ok := strings.Cut(s, "://"); ok && scheme != "" {
		s = redactURL(s)
	}
	return r.redact(s)
}

func redactURL(s string) string {
	s, _, fragment := strings.Cut(s, "#")
	s, query, _ := strings.Cut(s, "?")
	if before, after, ok := strings.Cut(s, "://"); ok {
		authority, path, slash := strings.Cut(after, "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			authority = host.Hidden + authority[at:]
		}
		s = before + "://" + authority
		if slash {
			s += "/" + path
		}
	}
	if query != "" {
		parameters := strings.FieldsFunc(query, func(c rune) bool { return c == '&' || c == ';' })
		for i, p := range parameters {
			name, _, _ := strings.Cut(p, "=")
			if plain, err := url.QueryUnescape(name); err != nil || host.IsSecretName(plain) {
				parameters[i] = name + "=" + host.Hidden
			}
		}
		s += "?" + strings.Join(parameters, "&")
	}
	if fragment {
		s += "#" + host.Hidden
	}
	return s
}
