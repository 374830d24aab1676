package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// ErrUnknownResponse means that an authorization response belongs to no running sign-in of this
// Client. The response was ignored.
var ErrUnknownResponse = errors.New("the authorization response belongs to no running sign-in")

// Finish completes a sign-in with the URL to which an authorization server redirected the user's
// browser. The handler of a web application's redirect URL calls it, on the Client of the user
// whose browser made the request; or a program reads the URL from a user who opened the browser on
// another machine. If the response belongs to no running sign-in of this Client, the error is
// ErrUnknownResponse. Each response is accepted once.
//
// Spec: RFC 6749 4.1.2; 2026-07-28 basic/authorization#authorization-response-validation
func (c *Client) Finish(response string) error {
	u, err := url.Parse(response)
	if err != nil {
		return fmt.Errorf("finish sign-in: %w", ErrUnknownResponse)
	}
	if err := c.deliver(u, nil); err != nil {
		return fmt.Errorf("finish sign-in: %w", err)
	}
	return nil
}

// deliver passes a response to the sign-in that waits for it. If only is set,
// it must be that one. It returns an error for an invalid response.
func (c *Client) deliver(u *url.URL, only *signIn) error {
	r, err := oauth.ParseAuthorizationResponse(u.RawQuery)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownResponse, err)
	}
	s := c.take(r.State, u, only)
	if s == nil {
		return ErrUnknownResponse
	}
	m := s.target.metadata
	err = r.Check(m.Issuer, m.ResponseIssuer)
	s.answer <- answer{r.Code, err}
	return err
}

// expect registers a sign-in that waits for its response.
func (c *Client) expect(s *signIn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected[s.state.Reveal()] = s
}

// take returns the sign-in of a state and removes the state.
func (c *Client) take(state string, u *url.URL, only *signIn) *signIn {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.expected[state]
	if s == nil || only != nil && s != only || only == nil && !sameRedirect(s.redirect, u) {
		return nil
	}
	delete(c.expected, state)
	return s
}

// sameRedirect reports whether the URL of a response is the redirect URI of its sign-in. It
// compares only what the URL has: a handler knows only the path and the query.
func sameRedirect(redirect string, u *url.URL) bool {
	want, err := url.Parse(redirect)
	if err != nil {
		return false
	}
	return u.EscapedPath() == want.EscapedPath() && (u.Host == "" || u.Host == want.Host)
}

// removeState removes a state, so that no response to it is accepted.
func (c *Client) removeState(s *signIn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.expected, s.state.Reveal())
}

// receiver is the loopback server that waits for the redirect of the user's
// browser.
type receiver struct {
	server *http.Server
	served chan struct{} // closed when the server has ended
}

// receive sets the redirect URI of a sign-in, and listens there if it is on
// loopback. The port is the registered one, or else any free port.
//
// Spec: RFC 8252 7.3, 8.3
func (c *Client) receive(ctx context.Context, s *signIn) (*receiver, error) {
	u, err := oauth.ParseEndpoint(c.opts.redirectFor(s.target.metadata.Issuer))
	if err != nil {
		return nil, fmt.Errorf("RedirectURL: %w", err)
	}
	if !oauth.IsLoopback(u.Hostname()) {
		s.redirect = u.String()
		return nil, nil
	}
	l, err := c.listen(ctx, s.target.metadata.Issuer, u)
	if err != nil {
		return nil, fmt.Errorf("wait for the browser: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	u.Host = net.JoinHostPort(u.Hostname(), port)
	s.redirect = u.String()
	r := &receiver{server: &http.Server{
		Handler: c.receiving(s, u), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10,
	}, served: make(chan struct{})}
	r.server.SetKeepAlivesEnabled(false)
	go func() {
		defer close(r.served)
		_ = r.server.Serve(l) // until close
	}()
	return r, nil
}

func (c *Client) listen(ctx context.Context, issuer string, u *url.URL) (net.Listener, error) {
	host := u.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	var lc net.ListenConfig
	if u.Port() == "" {
		if l := c.listenRegistered(ctx, &lc, issuer, host); l != nil {
			return l, nil
		}
	}
	port := u.Port()
	if port == "" {
		port = "0"
	}
	return lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
}

// listenRegistered listens at the registered port, because not every authorization
// server accepts another one. It returns nil if the port is not available.
func (c *Client) listenRegistered(ctx context.Context, lc *net.ListenConfig, issuer, host string) net.Listener {
	r, err := c.storedRegistration(ctx, issuer)
	if err != nil || r == nil {
		return nil
	}
	u, err := url.Parse(r.Redirect)
	if err != nil || u.Hostname() != host || u.Port() == "" {
		return nil
	}
	l, err := lc.Listen(ctx, "tcp", u.Host)
	if err != nil {
		return nil
	}
	return l
}

// close stops the server after the page was written.
func (r *receiver) close() {
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if r.server.Shutdown(ctx) != nil {
		_ = r.server.Close()
	}
	<-r.served
}

// receiving answers the one request that has the response of the sign-in. Every
// other request gets 404.
func (c *Client) receiving(s *signIn, redirect *url.URL) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here := r.Method == http.MethodGet && r.Host == redirect.Host && r.URL.EscapedPath() == redirect.EscapedPath()
		if !here || errors.Is(c.deliver(r.URL, s), ErrUnknownResponse) {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write([]byte(receivedPage)) // a browser that has gone has no need of it
	})
}

// receivedPage repeats nothing of the response, which is untrusted text.
const receivedPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sign-in</title>
<h1>You can close this window</h1>
<p>The program that opened it has received the answer, and goes on.</p>
</html>
`
