package egress

import "net/url"

// CanonicalURL normalizes the URL of a resource: scheme and host in lower case,
// without the default port, and without a path that is only /. It returns text
// that is not an https or http URL unchanged.
//
// Spec: 2026-07-28 basic/authorization#canonical-server-uri; RFC 3986 6.2
func CanonicalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return text
	}
	path := u.EscapedPath()
	if path == "/" {
		path = ""
	}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	return Origin(u) + path
}
