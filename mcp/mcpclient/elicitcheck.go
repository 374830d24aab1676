package mcpclient

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// checkURL refuses a URL that is neither https nor http on this machine.
//
// Spec: 2026-07-28 client/elicitation#url-mode-security
func checkURL(p *mcp.ElicitParams) error {
	u, err := url.Parse(p.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: url: want an absolute URL without a user name", mcp.MethodElicit)
	case !asciiHost.MatchString(u.Host):
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: url: host %.64q: want ASCII characters, with labels beyond ASCII in their xn-- form", mcp.MethodElicit, u.Host)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "%s: url: scheme %.16q: want https", mcp.MethodElicit, u.Scheme)
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// asciiHost matches an ASCII host with an optional port.
var asciiHost = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

// URLHost returns the host of a URL elicitation, with the port if the URL has one. Show
// it to the user together with the whole URL. It is in lower case, and a label with
// characters beyond ASCII is in its xn-- form, so that a name cannot imitate another
// one. It is empty for a URL without such a host; Options.ElicitURL is never called for
// one.
//
// Spec: 2026-07-28 client/elicitation#url-mode-security
func URLHost(p *mcp.ElicitParams) string {
	u, err := url.Parse(p.URL)
	if err != nil || !asciiHost.MatchString(u.Host) {
		return ""
	}
	return strings.ToLower(u.Host)
}
