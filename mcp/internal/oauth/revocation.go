package oauth

import (
	"context"
	"encoding/json/jsontext"
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
	if resp.StatusCode/100 != 2 {
		return readRefusal(resp, tokenCodes)
	}
	var text jsontext.Value
	if ReadDocument(resp, &text) != nil { // a success needs no body
		return nil
	}
	return refusalOf(resp.StatusCode, tokenCodes, text)
}
