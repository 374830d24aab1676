package mcpauth_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

func TestVerifierOfTheAuthorFailsClosed(t *testing.T) {
	t.Parallel()
	good := mcpauth.Token{Issuer: "static", Subject: "ada", Audience: []string{identifier}}
	for name, test := range map[string]struct {
		verify func(context.Context, string) (*mcpauth.Token, error)
		status int
		code   string
	}{
		"error":           {func(context.Context, string) (*mcpauth.Token, error) { return nil, errors.New("no") }, 401, "invalid_token"},
		"token and error": {func(context.Context, string) (*mcpauth.Token, error) { return &good, errors.New("no") }, 401, "invalid_token"},
		"nil":             {func(context.Context, string) (*mcpauth.Token, error) { return nil, nil }, 401, "invalid_token"},
		"zero":            {func(context.Context, string) (*mcpauth.Token, error) { return &mcpauth.Token{}, nil }, 401, "invalid_token"},
		"no audience": {func(context.Context, string) (*mcpauth.Token, error) {
			return &mcpauth.Token{Issuer: "static", Subject: "ada"}, nil
		}, 401, "invalid_token"},
		"no issuer": {func(context.Context, string) (*mcpauth.Token, error) {
			return &mcpauth.Token{Subject: "ada", Audience: good.Audience}, nil
		}, 401, "invalid_token"},
		"expired": {func(context.Context, string) (*mcpauth.Token, error) {
			return &mcpauth.Token{Issuer: "static", Subject: "ada", Audience: good.Audience, Expires: time.Now().Add(-time.Hour)}, nil
		}, 401, "invalid_token"},
		"panic":       {func(context.Context, string) (*mcpauth.Token, error) { panic("boom") }, 503, ""},
		"nil pointer": {func(context.Context, string) (*mcpauth.Token, error) { var e *tokenError; return nil, e }, 503, ""},
		"unavailable": {func(context.Context, string) (*mcpauth.Token, error) {
			return nil, fmt.Errorf("db: %w", mcpauth.ErrUnavailable)
		}, 503, ""},
		"deadline": {func(context.Context, string) (*mcpauth.Token, error) { return nil, context.DeadlineExceeded }, 503, ""},
	} {
		p := newProtected(t, mcpauth.VerifyWith(test.verify))
		if p.refuses(request("Authorization", "Bearer x"), test.status, test.code); t.Failed() {
			t.Fatal(name)
		}
	}
	p := newProtected(t, mcpauth.VerifyWith(func(context.Context, string) (*mcpauth.Token, error) { return &good, nil }))
	p.passes("x")
	if !p.identity.Expires.IsZero() || p.identity.Principal != (mcp.Principal{Issuer: "static", Subject: "ada"}) {
		t.Errorf("got %+v", p.identity)
	}
}

// tokenError panics for nil, as errors of authors may.
type tokenError struct{ text string }

func (e *tokenError) Error() string { return e.text }
