package oauth

import (
	"context"
	"crypto/tls"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
)

// useNonce is the code of a request whose proof needs a nonce of the server.
const useNonce = "use_dpop_nonce"

// tokenCodes are the error codes of token endpoints. No other code is repeated,
// because a server could copy secrets from the request into it.
//
// Spec: RFC 6749 5.2; RFC 8707 2; RFC 9449 5, 8; RFC 9470; OpenID Connect Core 1.0 3.1.2.6
var tokenCodes = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
	"invalid_target", "invalid_dpop_proof", useNonce, "access_denied", "server_error", "temporarily_unavailable", "slow_down",
	"interaction_required", "login_required", "consent_required", "unmet_authentication_requirements",
}

// Error is the refusal of an endpoint. It keeps only the error code of the response, and only a
// standard one.
//
// Spec: RFC 6749 5.2
type Error struct {
	Status int
	Code   string // empty when there is none
	// Stated is whether the response is JSON that says that it is an error. Without it, something
	// between the client and the endpoint may have answered.
	Stated bool
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("refused with HTTP status %d, without an error code of the standards", e.Status)
	}
	return "refused: " + e.Code
}

// Final reports whether the same request would be refused again: the response says that it is an
// error, and neither its status nor its code is that of an error that passes.
func (e *Error) Final() bool {
	return e.Stated && e.Status < 500 && e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout &&
		!slices.Contains([]string{"server_error", "temporarily_unavailable", "slow_down", useNonce}, e.Code)
}

// UnknownClient reports whether the endpoint does not know the client, or no longer.
func (e *Error) UnknownClient() bool {
	return e.Code == "invalid_client" || e.Code == "unauthorized_client"
}

// envelope is what a response in JSON says about its success. Some servers refuse with status 200.
type envelope struct {
	OK    jsontext.Value `json:"ok"`
	Error jsontext.Value `json:"error"`
}

// refuses reports whether the response is an error: it has one that is not empty, or says that it
// is not ok.
func (e *envelope) refuses() bool {
	return string(e.OK) == "false" || !slices.Contains([]string{"", "null", "false", `""`}, string(e.Error))
}

// readAnswer decodes the successful response of an endpoint into out: any status 2xx with JSON that
// is no error. Any other response is an *Error with one of the codes.
func readAnswer(resp *http.Response, codes []string, out any) error {
	if resp.StatusCode/100 != 2 {
		return readRefusal(resp, codes)
	}
	var text jsontext.Value
	if err := ReadDocument(resp, &text); err != nil {
		return err
	}
	if refused := refusalOf(resp.StatusCode, codes, text); refused != nil {
		return refused
	}
	return decodeDocument(text, out)
}

// readRefusal returns the error of a response without a token.
func readRefusal(resp *http.Response, codes []string) error {
	if resp.StatusCode/100 == 3 {
		return errors.New("redirect refused: a request with credentials is not redirected")
	}
	var text jsontext.Value
	if ReadDocument(resp, &text) == nil {
		if refused := refusalOf(resp.StatusCode, codes, text); refused != nil {
			return refused
		}
	}
	return &Error{Status: resp.StatusCode}
}

// refusalOf returns the error that a document is, or nil if it is none.
func refusalOf(status int, codes []string, text jsontext.Value) error {
	var e envelope
	if decodeDocument(text, &e) != nil || !e.refuses() {
		return nil
	}
	refused := &Error{Status: status, Stated: true}
	var code string
	if json.Unmarshal(e.Error, &code) == nil && slices.Contains(codes, code) {
		refused.Code = code
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
