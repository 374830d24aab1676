package oauth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// TokenEndpoint requests tokens for one client. It is safe for concurrent use.
type TokenEndpoint struct {
	HTTP *http.Client // redirects are not followed, even if it follows them
	URL  string
	// Issuer is the issuer of the endpoint: the audience of assertions.
	Issuer string
	Auth   ClientAuth
	Prover Prover // nil asks for tokens that are bound to no key
}

// Prover makes DPoP proofs: it proves with each request that its sender has a
// key.
//
// Spec: RFC 9449
type Prover interface {
	// Proof returns the DPoP header of a request to the URL, for the access token
	// that goes with it, if any. It uses the last nonce of the URL's origin.
	Proof(method, url string, access Secret) (string, error)
	// Remember stores the nonce in the header of a response for later proofs,
	// and reports whether it is new.
	Remember(url string, header http.Header) bool
}

// Request requests a token with a form. It does not change the form: it adds the client's
// authentication and the proof to a copy. If the server requires its nonce in the proof, Request
// repeats the request once. It follows no redirect. Any status 2xx with a token in JSON is a success,
// and JSON that says that it is an error is an *Error, whatever its status. Errors hold nothing that was sent and, except for standard error codes, nothing that was received.
//
// Spec: RFC 6749 3.2, 5; RFC 9449 5, 8
func (e *TokenEndpoint) Request(ctx context.Context, form url.Values) (*TokenResponse, error) {
	if _, err := ParseEndpoint(e.URL); err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	token, renewed, err := e.attempt(ctx, form)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Code == useNonce && renewed {
		token, _, err = e.attempt(ctx, form)
	}
	if err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	return token, nil
}

// attempt sends the form once, and reports whether the response had a new nonce.
func (e *TokenEndpoint) attempt(ctx context.Context, form url.Values) (t *TokenResponse, renewed bool, err error) {
	req, err := e.prepare(ctx, form)
	if err != nil {
		return nil, false, err
	}
	resp, err := e.client().Do(req)
	if err != nil {
		return nil, false, BrokenError(err)
	}
	defer resp.Body.Close()
	if e.Prover != nil {
		renewed = e.Prover.Remember(e.URL, resp.Header)
	}
	var wire tokenWire
	if err := readAnswer(resp, tokenCodes, &wire); err != nil {
		return nil, renewed, err
	}
	t, err = wire.response(time.Now())
	if err == nil && t.Type == TypeDPoP && e.Prover == nil {
		err = errors.New("token is bound to a key that we do not have")
	}
	return t, renewed, err
}

func (e *TokenEndpoint) prepare(ctx context.Context, form url.Values) (*http.Request, error) {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	form = maps.Clone(form)
	if form == nil {
		form = make(url.Values)
	}
	if err := e.Auth.apply(header, form, e.Issuer); err != nil {
		return nil, err
	}
	if e.Prover != nil {
		proof, err := e.Prover.Proof(http.MethodPost, e.URL, "")
		if err != nil {
			return nil, err
		}
		header.Set("DPoP", proof)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("want a valid URL")
	}
	req.Header = header
	return req, nil
}

// client returns a copy that follows no redirect and sends no cookies.
func (e *TokenEndpoint) client() *http.Client {
	c := *e.HTTP
	c.Jar = nil
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}
