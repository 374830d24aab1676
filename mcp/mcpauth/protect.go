package mcpauth

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dpop"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// retryAfter is the number of seconds after which a client may retry if tokens
// cannot be verified.
const retryAfter = "5"

// Protect returns a handler that passes only requests with a valid access token
// to next. It puts an mcp.Identity and a Token (see [TokenFrom]) into their
// context and removes the headers Authorization and DPoP, so that no handler
// can forward the token.
//
// Other requests are answered with 401, with 403 if a scope of RequireScopes is
// missing, with 400 if the credentials are malformed, or with 503 if the token
// cannot be verified, and with a WWW-Authenticate header that tells the client
// how to get a token. Every request needs a token, also within a session.
//
// If next is a handler of mcpserver, Protect first does that handler's checks of Host and Origin, so
// that a web page of another origin does not learn whether credentials are valid. A handler around
// one can have the same method, Admit(http.ResponseWriter, *http.Request) bool, which answers a
// request that it does not admit. For other handlers Protect checks only the Host (see
// [AllowedHosts]). It passes CORS preflight
// requests, which cannot have a token, to next without an identity: next must answer OPTIONS only
// with the allowed methods and headers.
//
// It panics if next is nil. The handler is safe for concurrent use.
//
// Spec: 2026-07-28 basic/authorization#token-handling; RFC 6750 3
func (r *Resource) Protect(next http.Handler) http.Handler {
	if next == nil {
		panic("mcpauth: Protect: no handler")
	}
	return &protectedHandler{resource: r, next: next, hostCheck: r.admitterOf(next)}
}

// admitterOf returns the admitter that checks Host and Origin of the requests
// to a handler.
func (r *Resource) admitterOf(next http.Handler) admitter {
	if own, ok := next.(admitter); ok {
		return own
	}
	return r.hostCheck
}

// admitter is a handler whose checks of Host and Origin can be made before it
// is called. It answers requests that it refuses.
type admitter interface {
	Admit(http.ResponseWriter, *http.Request) bool
}

var (
	_ admitter = (*streamhttp.Handler)(nil)
	_ admitter = (*streamhttp.SSEHandler)(nil)
	_ admitter = (*streamhttp.HostCheck)(nil)
)

type protectedHandler struct {
	resource  *Resource
	next      http.Handler
	hostCheck admitter
}

func (p *protectedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.hostCheck.Admit(w, r) {
		return
	}
	if isPreflight(r) {
		p.next.ServeHTTP(w, withoutCredentials(r.Context(), r))
		return
	}
	c, err := readCredentials(r)
	var t *Token
	if err == nil {
		t, err = p.resource.authenticate(w, r, c)
	}
	if err != nil {
		p.resource.refuse(w, r, c, t, asDenial(err))
		return
	}
	ctx := context.WithValue(r.Context(), tokenKey{}, t)
	ctx = mcp.WithIdentity(ctx, p.resource.identity(c, t))
	p.next.ServeHTTP(w, withoutCredentials(ctx, r))
}

// authenticate verifies the credentials. If it returns an error and a Token,
// the token is valid but not sufficient.
//
//	authenticate
//	 └─ verify         by the keys of its issuer, by introspection, or by the author's verifier
//	 └─ checkToken     issuer, subject, audience and expiry, whichever way it was verified
//	 └─ checkProof     that the sender holds the key it is bound to
//	 └─ scopes         that every request needs
func (r *Resource) authenticate(w http.ResponseWriter, req *http.Request, c credentials) (*Token, error) {
	t, err := r.verify(req.Context(), c.token)
	if err != nil {
		return nil, err
	}
	if err := r.checkToken(t, time.Now()); err != nil {
		return nil, err
	}
	if err := r.checkProof(w.Header(), req, c, t); err != nil {
		return t, err
	}
	if missing := (&mcp.Identity{Scopes: r.expand(t.Scopes)}).Missing(r.required); len(missing) > 0 {
		return t, &denial{status: http.StatusForbidden, code: codeInsufficientScope, reason: "the token lacks a scope"}
	}
	return t, nil
}

// verify verifies a token with the verifier that is responsible for it. Only
// the keys of its issuer verify a JWT that names this issuer.
func (r *Resource) verify(ctx context.Context, token string) (*Token, error) {
	if len(token) > r.maxToken {
		return nil, invalidToken("the token is too long")
	}
	claimed := claimedIssuer(token)
	if i, ok := r.issuers[oauth.BareIdentifier(claimed)]; ok {
		return i.verify(ctx, token)
	}
	var t *Token
	err := invalidToken("the token is of no known issuer")
	if r.opaque != nil {
		t, err = r.opaque.verify(ctx, token)
	}
	if err != nil && claimed != "" {
		r.logUnknownIssuer(ctx, claimed)
	}
	return t, err
}

func (r *Resource) identity(c credentials, t *Token) *mcp.Identity {
	return &mcp.Identity{
		Principal: mcp.Principal{Issuer: t.Issuer, Subject: t.Subject, Client: t.Client},
		Scopes:    r.expand(t.Scopes),
		Expires:   t.Expires,
		Claims:    t.Claims,
		Challenge: r.challengeFor(c.scheme),
	}
}

// refuse answers a refused request. The response has only what its sender may
// know.
func (r *Resource) refuse(w http.ResponseWriter, req *http.Request, c credentials, t *Token, d *denial) {
	streamhttp.LeaveBody(w, req)
	h := w.Header()
	if d.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", retryAfter)
	} else {
		h.Set("WWW-Authenticate", r.challenge(r.schemeFor(c, t), d.code, d.reason, r.required))
	}
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Add("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After, "+dpop.HeaderNonce)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(d.status)
	_, _ = io.WriteString(w, "authorization: "+d.reason+"\n")
	r.logRefusal(req.Context(), d)
}

// schemeFor returns the scheme of the challenge to a client.
func (r *Resource) schemeFor(c credentials, t *Token) string {
	if r.proofRequired || c.scheme == schemeProof || t != nil && t.ProofKey != "" {
		return schemeProof
	}
	return schemeBearer
}

// logRefusal logs failures of verification at a high level, because they
// concern all clients, and other refusals at a lower level.
func (r *Resource) logRefusal(ctx context.Context, d *denial) {
	level := slog.LevelInfo
	switch {
	case d.status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	case d.code == "":
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{slog.String("resource", r.identifier), slog.Int("status", d.status), slog.String("reason", d.reason)}
	if d.cause != nil {
		attrs = append(attrs, slog.String("cause", d.cause.Error()))
	}
	r.logger.LogAttrs(ctx, level, "access refused", attrs...)
}

// isPreflight reports whether the request is a CORS preflight request.
//
// Spec: WHATWG Fetch 3.3.2, CORS-preflight request
func isPreflight(r *http.Request) bool {
	h := r.Header
	return r.Method == http.MethodOptions && h.Get("Origin") != "" && h.Get("Access-Control-Request-Method") != "" && h["Authorization"] == nil
}

// withoutCredentials returns the request for the protected handler, without
// credentials.
//
// Spec: 2026-07-28 basic/authorization/security-considerations#access-token-privilege-restriction
func withoutCredentials(ctx context.Context, r *http.Request) *http.Request {
	r = r.WithContext(ctx)
	r.Header = r.Header.Clone()
	r.Header.Del("Authorization")
	r.Header.Del(dpop.HeaderProof)
	return r
}
