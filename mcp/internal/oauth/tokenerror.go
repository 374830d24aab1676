package oauth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
)

// Codes that a client handles.
const (
	InvalidGrant = "invalid_grant"
	useNonce     = "use_dpop_nonce"
)

// codes are the error codes of token endpoints. No other code is repeated,
// because a server could copy secrets from the request into it.
//
// Spec: RFC 6749 5.2; RFC 8707 2; RFC 9449 5, 8; RFC 9470; OpenID Connect Core 1.0 3.1.2.6
var codes = []string{
	"invalid_request", "invalid_client", InvalidGrant, "unauthorized_client", "unsupported_grant_type", "invalid_scope",
	"invalid_target", "invalid_dpop_proof", useNonce, "access_denied", "server_error", "temporarily_unavailable", "slow_down",
	"interaction_required", "login_required", "consent_required", "unmet_authentication_requirements",
}

// Error is the response of a token endpoint without a token. It keeps only the
// error code of the response, and only a standard one.
//
// Spec: RFC 6749 5.2
type Error struct {
	Status int
	Code   string // empty when there is none
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("refused with HTTP status %d, without an error code of the standards", e.Status)
	}
	return "refused: " + e.Code
}

func readRefusal(resp *http.Response) error {
	if resp.StatusCode/100 == 3 {
		return errors.New("redirect refused: a request with credentials is not redirected")
	}
	refused := &Error{Status: resp.StatusCode}
	var wire struct {
		Code string `json:"error"`
	}
	if ReadDocument(resp, &wire) == nil && slices.Contains(codes, wire.Code) {
		refused.Code = wire.Code
	}
	return refused
}

// BrokenError returns the cause of a failed exchange. It replaces errors that
// quote malformed HTTP, because a server could have copied secrets from the
// request into it.
func BrokenError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if quotesNothing(err) {
		return err
	}
	return errors.New("the connection broke, or the response is not HTTP")
}

// quotesNothing reports whether an error of an exchange repeats nothing of the response.
func quotesNothing(err error) bool {
	_, network := errors.AsType[*net.OpError](err)
	_, name := errors.AsType[*net.DNSError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	timeout, ok := errors.AsType[net.Error](err)
	return network || name || certificate || ok && timeout.Timeout() ||
		errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
