package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// LiteralSecrets returns the places of a server where a file would have what is probably a secret
// as text, for people: headers, variables, arguments, the URL and the client secret. What refers to
// a variable or an input is none.
func (s *Server) LiteralSecrets() (places []string) {
	e := s.entry
	note := func(f field, name, format string, a ...any) {
		if hasLiteralSecret(name, s.portableText(f)) {
			places = append(places, fmt.Sprintf(format, a...))
		}
	}
	for _, p := range e.env {
		note(p.field, p.name, "variable %q", p.name)
	}
	for _, p := range e.headers {
		note(p.field, p.name, "header %q", p.name)
	}
	note(e.signIn.secret, "clientSecret", `"clientSecret"`)
	if part := SecretInURL(s.portableText(e.url)); part != "" {
		places = append(places, "the URL ("+part+")")
	}
	for i, a := range e.args {
		note(a, flagBefore(e.args, i), "argument %d", i+1)
	}
	return places
}

// flagBefore returns the name of the flag whose value an argument may be, or nothing.
func flagBefore(args []field, i int) string {
	if i == 0 || strings.HasPrefix(args[i].text, "-") {
		return ""
	}
	if before := args[i-1].text; strings.HasPrefix(before, "-") && !strings.Contains(before, "=") {
		return strings.TrimLeft(before, "-")
	}
	return ""
}

// assignedReference matches a reference with the name to which it is assigned, as in TOKEN=${env:T}.
var assignedReference = regexp.MustCompile(`(?:[\w.-]+=)?` + reference.String())

// hasLiteralSecret reports whether a text has what is probably a secret besides its references. Next
// to references, a name alone does not make a secret of the rest, such as "Bearer ". Their defaults
// count as texts.
func hasLiteralSecret(name, text string) bool {
	refers, hasDefault := false, false
	rest := assignedReference.ReplaceAllStringFunc(text, func(ref string) string {
		if strings.Contains(ref, "$$") {
			return ref
		}
		refers = true
		_, def, _ := strings.Cut(strings.TrimSuffix(ref, "}"), ":-")
		hasDefault = hasDefault || host.IsSecretValue(name, def)
		return ""
	})
	if refers {
		name = ""
	}
	return hasDefault || host.IsSecretValue(name, rest)
}

// SecretInURL returns the part of a URL that is probably a secret and no reference, for people, or
// nothing.
func SecretInURL(address string) string {
	u, err := url.Parse(reference.ReplaceAllString(address, ""))
	if err != nil {
		u = &url.URL{Path: address}
	}
	if u.User != nil && strings.Trim(u.User.String(), ":") != "" {
		return "its user"
	}
	for assigned := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(assigned, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if host.IsSecretValue(name, value) {
			return fmt.Sprintf("its parameter %q", name)
		}
	}
	if host.IsSecretValue("", u.Path) || host.IsSecretValue("", u.Fragment) {
		return "a part with the form of a secret"
	}
	return ""
}
