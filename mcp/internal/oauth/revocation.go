package oauth

import (
	"context"
	"net/http"
	"net/url"
)

// The kinds of token that Revoke accepts.
const (
	HintAccess  = "access_token"
	HintRefresh = "refresh_token"
)

// Revoke revokes a token at an endpoint of the server, with the same client authentication as at
// the token endpoint. Revoking an invalid token is no error; an error response is an *Error.
//
// Spec: RFC 7009 2
func (e *TokenEndpoint) Revoke(ctx context.Context, endpoint string, token Secret, hint string) error {
	there := *e
	there.URL, there.Prover = endpoint, nil
	req, err := there.prepare(ctx, url.Values{"token": {token.Reveal()}, "token_type_hint": {hint}})
	if err != nil {
		return err
	}
	resp, err := there.client().Do(req)
	if err != nil {
		return BrokenError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return readRefusal(resp)
	}
	return nil
}
