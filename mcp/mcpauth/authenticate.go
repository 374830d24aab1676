package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Authenticate returns HTTP middleware for an application that authenticates its users already:
// with JWTs of its own, API keys, session cookies, or middleware in front, whose context values
// identify can read. For access tokens of an authorization server use [New] and
// [Resource.Protect], which also check that a token was issued for this server.
//
// identify is called for every request, also within a session, and on several goroutines at
// once. Its result is used for this one request:
//
//   - An identity and no error: the request passes, with a copy of the identity in its context.
//     The principal must have an Issuer, which says what has authenticated the Subject, such as
//     "app"; Expires must not be in the past. If Challenge is nil, a 403 because of missing
//     scopes has a challenge of the scheme Bearer.
//   - No identity and no error: 401, the request has no credentials.
//   - An error: 401, also if there is an identity, too. [Challenge] sets the WWW-Authenticate
//     header of the response. An error that wraps [ErrUnavailable] is 503.
//   - A panic, or a principal without Issuer or Subject: 500.
//
// A 401 has the header "WWW-Authenticate: Bearer", with error="invalid_token" if the request has
// an Authorization header. Responses do not have the text of an error. It is in the log
// (slog.Default) without the token of the Authorization header.
//
// The headers Authorization, DPoP and Cookie are removed from the request that next gets, so that
// no handler can forward them; identify gets them. CORS preflight requests, which have no
// credentials, pass without an identity: next must answer OPTIONS only with the allowed methods
// and headers, as handlers of mcpserver do. If next is a handler of mcpserver, its checks of Host
// and Origin are made first.
//
// Authenticate panics if identify is nil, and the middleware panics if next is nil.
//
// Spec: RFC 9110 11.6.1; RFC 6750 3
func Authenticate(identify func(*http.Request) (*mcp.Identity, error)) func(next http.Handler) http.Handler {
	if identify == nil {
		panic("mcpauth: Authenticate: no function")
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("mcpauth: Authenticate: no handler")
		}
		a := &authenticatedHandler{identify: identify, next: next}
		a.hostCheck, _ = next.(admitter)
		return a
	}
}

// Challenge returns err with the WWW-Authenticate header for the response of [Authenticate], such
// as `Basic realm="app"`. If err is nil, the error says that there are no credentials. Challenge
// panics if the header is empty or has control characters.
func Challenge(header string, err error) error {
	if header == "" || strings.ContainsFunc(header, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		panic(fmt.Sprintf("mcpauth: Challenge: header %q: want one such as Basic realm=\"app\"", header))
	}
	if err == nil {
		err = errNoCredentials
	}
	return &challengeError{header, err}
}

type challengeError struct {
	header string
	err    error
}

func (e *challengeError) Error() string { return e.err.Error() }
func (e *challengeError) Unwrap() error { return e.err }

type authenticatedHandler struct {
	identify  func(*http.Request) (*mcp.Identity, error)
	next      http.Handler
	hostCheck admitter // nil if next makes no such checks
}

func (a *authenticatedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.hostCheck != nil && !a.hostCheck.Admit(w, r) {
		return
	}
	if isPreflight(r) {
		a.next.ServeHTTP(w, withoutCookies(mcp.WithIdentity(r.Context(), nil), r))
		return
	}
	who, err := a.identityOf(r)
	if err != nil {
		refuseUnauthenticated(w, r, err)
		return
	}
	a.next.ServeHTTP(w, withoutCookies(mcp.WithIdentity(r.Context(), who), r))
}

// errIdentity is the error of an identity that must not be used. It is a mistake of the author.
var errIdentity = errors.New("the function of Authenticate returned an identity that cannot be used")

// identityOf returns a copy of the identity that the author's function finds.
func (a *authenticatedHandler) identityOf(r *http.Request) (who *mcp.Identity, err error) {
	err = usercode.Run(func() (err error) {
		who, err = a.identify(r)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case who == nil:
		return nil, errNoCredentials
	}
	own := *who
	own.Scopes, own.Claims = slices.Clone(who.Scopes), who.Claims.Clone()
	if own.Challenge == nil {
		own.Challenge = bearerChallenge
	}
	switch {
	case !own.Principal.Authenticated() || own.Principal.Subject == "":
		return nil, fmt.Errorf("%w: principal %q: want an Issuer and a Subject", errIdentity, own.Principal)
	case !own.Expires.IsZero() && !time.Now().Before(own.Expires):
		return nil, invalidToken("the credentials have expired")
	}
	return &own, nil
}

// bearerChallenge is the challenge to a caller that lacks scopes.
func bearerChallenge(scopes []string) string {
	return fmt.Sprintf("Bearer error=%s, scope=%s", quoted(codeInsufficientScope), quoted(strings.Join(scopes, " ")))
}

// refusal is how a request without a usable identity is answered and logged.
type refusal struct {
	status    int
	reason    string // for who sent the request
	challenge string // the WWW-Authenticate header; empty: none
	level     slog.Level
	attrs     []slog.Attr
}

// refusalOf returns the refusal for an error. Methods of err are the author's code and may
// panic.
func refusalOf(r *http.Request, err error) refusal {
	if _, ok := err.(*usercode.Panic); ok || errors.Is(err, errIdentity) {
		return refusal{http.StatusInternalServerError, "internal error", "", slog.LevelError, usercode.Attrs(err)}
	}
	text := []slog.Attr{slog.String("error", withoutCredentialsOf(r, err.Error()))}
	if errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return refusal{http.StatusServiceUnavailable, "credentials cannot be verified now", "", slog.LevelWarn, text}
	}
	d := refusal{http.StatusUnauthorized, "the credentials are not valid", schemeBearer, slog.LevelInfo, text}
	if len(r.Header["Authorization"]) > 0 {
		d.challenge += " error=" + quoted(codeInvalidToken)
	}
	if errors.Is(err, errNoCredentials) {
		d.reason, d.level = "credentials are needed", slog.LevelDebug
	}
	if own, ok := errors.AsType[*challengeError](err); ok {
		d.challenge = own.header
	}
	return d
}

// refuseUnauthenticated answers a request without a usable identity.
func refuseUnauthenticated(w http.ResponseWriter, r *http.Request, err error) {
	var d refusal
	if p := usercode.Run(func() error { d = refusalOf(r, err); return nil }); p != nil {
		d = refusalOf(r, p)
	}
	streamhttp.LeaveBody(w, r)
	h := w.Header()
	switch {
	case d.status == http.StatusServiceUnavailable:
		h.Set("Retry-After", retryAfter)
	case d.challenge != "":
		h.Set("WWW-Authenticate", d.challenge)
	}
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Add("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(d.status)
	_, _ = io.WriteString(w, "authentication: "+d.reason+"\n")
	attrs := append(d.attrs, slog.Int("status", d.status))
	usercode.Logger(slog.Default()).LogAttrs(r.Context(), d.level, "authentication failed", attrs...)
}

// withoutCredentialsOf removes the credentials of the Authorization header from a text.
func withoutCredentialsOf(r *http.Request, text string) string {
	for _, value := range r.Header["Authorization"] {
		if _, token, ok := strings.Cut(value, " "); ok && token != "" {
			text = withoutToken(text, token)
		}
	}
	return text
}

// withoutCookies returns the request for the next handler, without credentials.
func withoutCookies(ctx context.Context, r *http.Request) *http.Request {
	r = withoutCredentials(ctx, r)
	r.Header.Del("Cookie")
	return r
}
