package egress

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// containPanics returns a transport that wraps t and inner, which is what withoutRedirects
// makes of t: a panic of t, or of the body of one of its responses, becomes an error. The
// panic is logged with its stack. An *http.Transport calls its Proxy on the goroutine of
// RoundTrip, but dials and does the TLS handshake on goroutines of its own: panics of those
// hooks are not contained.
func containPanics(t, inner http.RoundTripper, logger *slog.Logger) http.RoundTripper {
	own, ok := t.(*http.Transport)
	if ok && own.Proxy == nil {
		return inner
	}
	return &containedTransport{inner, logger, ok}
}

// containedTransport wraps a transport that is, or calls, code of the user of the library.
type containedTransport struct {
	transport  http.RoundTripper
	logger     *slog.Logger
	safeBodies bool // the bodies of responses are those of net/http
}

// RoundTrip implements http.RoundTripper.
func (c *containedTransport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer contain(req.Context(), c.logger, "Transport.RoundTrip", &err)
	resp, err = c.transport.RoundTrip(req)
	if resp != nil && resp.Body != nil && !c.safeBodies {
		resp.Body = &containedBody{req.Context(), c.logger, resp.Body}
	}
	return resp, err
}

// CloseIdleConnections implements what http.Client.CloseIdleConnections looks for.
func (c *containedTransport) CloseIdleConnections() {
	var err error
	defer contain(context.Background(), c.logger, "Transport.CloseIdleConnections", &err)
	if closer, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// contain is deferred: it converts a panic to an error and logs it.
func contain(ctx context.Context, logger *slog.Logger, method string, err *error) {
	if v := recover(); v != nil {
		p := usercode.NewPanic(v)
		*err = p
		logger.LogAttrs(ctx, slog.LevelError, "HTTP client panicked", append(usercode.Attrs(p), slog.String("method", method))...)
	}
}

// containedBody is the body of a response of such a transport.
type containedBody struct {
	ctx    context.Context // of the request
	logger *slog.Logger
	body   io.ReadCloser
}

// Read implements io.Reader.
func (b *containedBody) Read(p []byte) (n int, err error) {
	defer contain(b.ctx, b.logger, "Body.Read", &err)
	return b.body.Read(p)
}

// Close implements io.Closer.
func (b *containedBody) Close() (err error) {
	defer contain(b.ctx, b.logger, "Body.Close", &err)
	return b.body.Close()
}

// containedJar wraps a cookie jar that the user of the library implements. A panic yields no
// cookies.
type containedJar struct {
	jar    http.CookieJar
	logger *slog.Logger
}

// SetCookies implements http.CookieJar.
func (j *containedJar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	var err error
	defer contain(context.Background(), j.logger, "Jar.SetCookies", &err)
	j.jar.SetCookies(u, cookies)
}

// Cookies implements http.CookieJar.
func (j *containedJar) Cookies(u *url.URL) []*http.Cookie {
	var err error
	defer contain(context.Background(), j.logger, "Jar.Cookies", &err)
	return j.jar.Cookies(u)
}
