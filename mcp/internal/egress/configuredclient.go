package egress

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
)

const (
	maxRedirects      = 3
	maxIdlePerHost    = 100
	maxResponseHeader = 1 << 20
)

// Configured returns a client for addresses that the user configured. It is a copy of base,
// which may be nil, with three changes. It follows redirects only within the origin and only with
// the same method. It has no timeout for a whole exchange, which would end event streams. A panic
// of its transport becomes an error and is logged; a panic of its Jar is logged. If base has no
// transport, the client gets its own, which uses the proxies of the environment. On js it
// follows no redirect, because fetch has no hook to check one.
func Configured(base *http.Client, logger *slog.Logger) *http.Client {
	var c http.Client
	if base != nil {
		c = *base
	}
	if c.Transport == nil {
		c.Transport = transport()
	}
	c.Transport = containPanics(c.Transport, withoutRedirects(c.Transport), logger)
	if c.Jar != nil {
		c.Jar = &containedJar{c.Jar, logger}
	}
	c.CheckRedirect = sameOriginOnly
	c.Timeout = 0
	return &c
}

// transport is the default transport with more idle connections per host, for
// concurrent calls to one server.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = maxIdlePerHost
	t.MaxResponseHeaderBytes = maxResponseHeader
	if dial := configuredDial(runtime.GOOS); dial != nil {
		t.DialContext = dial
	}
	return t
}

// RedirectError reports a redirect that was not followed. Nothing was sent to
// its target.
type RedirectError struct {
	// Status is the status code of the redirect.
	Status int
	// From is the origin that has redirected, such as https://example.com.
	From string
	// To is the URL to which the redirect leads, without user and fragment. "…" stands for what may
	// be a secret: a query, and a long segment of the path with digits.
	To string
	// Want describes the redirects that are followed.
	Want string
	// Advice says what the user can do. It may be empty.
	Advice string
}

func (e *RedirectError) Error() string {
	text := fmt.Sprintf("redirect %d from %s to %s refused: want %s", e.Status, e.From, e.To, e.Want)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// sameOriginOnly is a CheckRedirect. Only 307 and 308 keep method and body, and
// only the same origin may get the headers.
func sameOriginOnly(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	e := &RedirectError{From: Origin(from), To: shownURL(req.URL), Advice: "configure that URL if it is the address of the server"}
	if req.Response != nil {
		e.Status = req.Response.StatusCode
	}
	switch {
	case e.From != Origin(req.URL):
		e.Want = "the same scheme, host and port"
	case e.Status != http.StatusTemporaryRedirect && e.Status != http.StatusPermanentRedirect:
		e.Want = "307 or 308, which keep the method"
	case len(via) > maxRedirects:
		e.Want, e.Advice = fmt.Sprintf("at most %d in a row", maxRedirects), ""
	default:
		return nil
	}
	return e
}

const (
	maxShownPath = 512 // bytes of the path of a URL in an error
	minSecret    = 16  // bytes of a segment of a path that may be a secret
)

// shownURL returns a URL as errors have it.
func shownURL(u *url.URL) string {
	segments := strings.Split(u.EscapedPath(), "/")
	for i, s := range segments {
		if len(s) >= minSecret && strings.ContainsAny(s, "0123456789") {
			segments[i] = "…"
		}
	}
	path := strings.Join(segments, "/")
	if len(path) > maxShownPath {
		path = path[:maxShownPath] + "…"
	}
	if u.RawQuery != "" {
		path += "?…"
	}
	return Origin(u) + path
}

// Origin returns scheme, host and port of u in normalized form, without the
// default port: two URLs have the same origin exactly if the results are equal.
//
// Spec: RFC 6454 4
func Origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname())
	port := u.Port()
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		port = ""
	} else {
		port = ":" + port
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return scheme + "://" + host + port
}
