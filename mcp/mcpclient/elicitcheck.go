package mcpclient

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// secretField is what a form must not ask for.
//
// Spec: 2026-07-28 client/elicitation#security-considerations
var secretField = regexp.MustCompile(`(?i)pass ?(word|phrase|code)|secret|api[-_ ]?key|access[-_ ]?(key|token)|private[-_ ]?key|credential|\b(pin|cvv|cvc|ssn)\b|credit[-_ ]?card|card[-_ ]?number`)

// checkForm refuses a form with a field that looks like one for a secret, by its name or
// its title. What else is wrong with the schema is found when it is compiled.
func checkForm(p *mcp.ElicitParams) error {
	for name, field := range rawjson.Members(rawjson.Member(p.RequestedSchema, "properties")) {
		var title []byte
		if text := rawjson.Member(field, "title"); text.Kind() == '"' {
			title = rawjson.Unquote(text)
		}
		if isSecretName(name) || secretField.Match(title) {
			return mcp.Errorf(mcp.CodeInvalidParams, "%s: field %.64q looks like a secret; use URL elicitation for it", mcp.MethodElicit, name)
		}
	}
	return nil
}

// isSecretName reports whether the name of a field, whose words underscores may separate,
// looks like that of a secret.
func isSecretName(name []byte) bool {
	return secretField.Match(name) ||
		bytes.IndexByte(name, '_') >= 0 && secretField.Match(bytes.ReplaceAll(name, []byte{'_'}, []byte{' '}))
}

// checkURL refuses a URL that is neither https nor http on this machine.
//
// Spec: 2026-07-28 client/elicitation#url-mode-security
func checkURL(p *mcp.ElicitParams) error {
	u, err := url.Parse(p.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: url: want an absolute one without a user", mcp.MethodElicit)
	case !plainHost.MatchString(u.Host):
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: url: host %.64q: want its letters plain, as xn--… where they are not", mcp.MethodElicit, u.Host)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "%s: url: scheme %.16q: want https", mcp.MethodElicit, u.Scheme)
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// plainHost is a host in plain letters, with a port or without.
var plainHost = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

// URLHost returns the host of a URL elicitation. Show it to the user together with the
// whole URL. It is in lower case, and a label with characters beyond ASCII is in its
// xn-- form, so that a name cannot imitate another one. It is empty for a URL without
// such a host, for which Options.ElicitURL is never called.
//
// Spec: 2026-07-28 client/elicitation#url-mode-security
func URLHost(p *mcp.ElicitParams) string {
	u, err := url.Parse(p.URL)
	if err != nil || !plainHost.MatchString(u.Host) {
		return ""
	}
	return strings.ToLower(u.Host)
}

// Directories returns a handler for Options.Roots that offers the given
// directories and files, as far as they exist at the moment of the question. It
// panics on a path that is not absolute.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func Directories(paths ...string) func(context.Context) ([]mcp.Root, error) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			panic(fmt.Sprintf("mcpclient.Directories: %q: want an absolute path", path))
		}
	}
	return func(context.Context) ([]mcp.Root, error) {
		roots := []mcp.Root{}
		for _, path := range paths {
			if _, err := os.Stat(path); err == nil {
				name := strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/")
				u := url.URL{Scheme: "file", Path: "/" + name}
				roots = append(roots, mcp.Root{URI: u.String(), Name: filepath.Base(path)})
			}
		}
		return roots, nil
	}
}
