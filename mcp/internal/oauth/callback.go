package oauth

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
)

const maxResponse = 16 << 10

// AuthorizationResponse holds the parameters of an authorization server's
// redirect to the client. Do not use or show any of them before Check.
type AuthorizationResponse struct {
	State  string
	Code   Secret
	Issuer string
	Error  string

	hasIssuer bool
}

// ParseAuthorizationResponse reads the query of the URL to which the user's
// browser was redirected. A repeated parameter is an error if it is one
// that we read.
//
// Spec: RFC 6749 4.1.2, 3.1
func ParseAuthorizationResponse(query string) (*AuthorizationResponse, error) {
	if len(query) > maxResponse {
		return nil, fmt.Errorf("authorization response of %d bytes: want at most %d", len(query), maxResponse)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("authorization response: want a query of well-formed parameters")
	}
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(values[name]) > 1 {
			return nil, fmt.Errorf("authorization response: duplicate parameter %s", name)
		}
	}
	return &AuthorizationResponse{
		State: values.Get("state"), Code: Secret(values.Get("code")),
		Issuer: values.Get("iss"), hasIssuer: values.Has("iss"),
		Error: values.Get("error"),
	}, nil
}

// Check returns nil if the response comes from the issuer and has a code. It compares the issuer
// byte for byte with the one in the metadata, as RFC 9207 asks for, and checks it first; its error repeats nothing of a response from another issuer but that
// issuer, if it is one. An error that the issuer reports is an *Error.
//
// Spec: RFC 9207 2.4; 2026-07-28 basic/authorization#authorization-response-validation
func (r *AuthorizationResponse) Check(issuer string, advertised bool) error {
	switch {
	case r.hasIssuer && r.Issuer != issuer:
		return fmt.Errorf("%w: it names another issuer: found %s, want %q", ErrOtherIssuer, ShownIssuer(r.Issuer), issuer)
	case advertised && !r.hasIssuer:
		return fmt.Errorf("%w: it names no issuer, want %q as its metadata promises", ErrOtherIssuer, issuer)
	case r.Error != "":
		return &Error{Code: responseCode(r.Error)}
	case r.Code == "":
		return errors.New("authorization response: want a code or an error")
	}
	return nil
}

// ErrOtherIssuer means that an authorization response is not from the authorization server of the
// request.
var ErrOtherIssuer = errors.New("authorization response refused")

// responseCodes are the error codes that an authorization response may have. Any other text is
// untrusted.
//
// Spec: RFC 6749 4.1.2.1; RFC 8707 2; OpenID Connect Core 1.0 3.1.2.6
var responseCodes = []string{
	"invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type", "invalid_scope",
	"server_error", "temporarily_unavailable", "invalid_target", "interaction_required", "login_required",
	"account_selection_required", "consent_required", "request_not_supported", "registration_not_supported",
}

func responseCode(text string) string {
	if slices.Contains(responseCodes, text) {
		return text
	}
	return "an error that the standards do not know"
}
