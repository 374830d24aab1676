package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// verifierTimeout is how long an author's verifier may take.
const verifierTimeout = 10 * time.Second

// ErrUnavailable is for verifiers that cannot verify a token, because a service
// that they use does not respond. The request is then refused with status 503,
// and its client keeps the token.
var ErrUnavailable = errors.New("tokens cannot be verified now")

// customVerifier calls the author's verifier. Unless it returns a token in
// time, the request is refused.
type customVerifier func(ctx context.Context, token string) (*Token, error)

var _ tokenVerifier = customVerifier(nil)

func (v customVerifier) verify(ctx context.Context, token string) (*Token, error) {
	ctx, cancel := context.WithTimeout(ctx, verifierTimeout)
	defer cancel()
	t, err := v.run(ctx, token)
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return nil, unavailable(errors.Join(ctx.Err(), err))
	case err != nil:
		return nil, &denial{status: statusInvalidToken, code: codeInvalidToken, reason: "the token is not valid", cause: err}
	case t == nil:
		return nil, invalidToken("the token is not known")
	}
	own := *t
	own.Audience, own.Scopes = slices.Clone(t.Audience), slices.Clone(t.Scopes)
	return &own, nil
}

// run converts panics to errors, also a panic of the error's Error method, and removes the token
// from errors.
func (v customVerifier) run(ctx context.Context, token string) (t *Token, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("%w: the verifier panicked: %s", ErrUnavailable, withoutToken(fmt.Sprint(p), token))
		}
	}()
	t, err = v(ctx, token)
	if err != nil {
		err = &tokenlessError{err, withoutToken(err.Error(), token)}
	}
	return t, err
}

// withoutToken removes a token from a text, in plain and in query-escaped form.
func withoutToken(text, token string) string {
	return strings.NewReplacer(token, "[token]", url.QueryEscape(token), "[token]").Replace(text)
}

// tokenlessError is an author's error with another text. It supports errors.Is,
// but cannot be unwrapped, because the original error may contain the token.
type tokenlessError struct {
	err  error
	text string
}

func (e *tokenlessError) Error() string { return e.text }

// Is reports whether the error is the target.
func (e *tokenlessError) Is(target error) bool { return errors.Is(e.err, target) }

// GoString returns Error, because the original error may contain the token.
func (e *tokenlessError) GoString() string { return e.text }
