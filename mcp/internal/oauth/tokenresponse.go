package oauth

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Types of tokens.
//
// Spec: RFC 6750; RFC 9449 5; RFC 8693 2.2.1
const (
	TypeBearer = "Bearer"
	TypeDPoP   = "DPoP"
	TypeNone   = "N_A" // of a token that is not an access token
)

const (
	maxToken    = 64 << 10
	maxLifetime = 10 * 365 * 24 * time.Hour
)

// TokenResponse is the successful response of a token endpoint.
//
// Spec: RFC 6749 5.1
type TokenResponse struct {
	Access  Secret
	Refresh Secret // empty when there is none
	Type    string // one of the constants, in their spelling
	// IssuedType is the type of Access after a token exchange (RFC 8693 2.2.1).
	IssuedType string
	// Expires is when Access expires, or zero if the response does not say.
	Expires time.Time
	// Scopes are the granted scopes if HasScope, or else the requested ones.
	Scopes   []string
	HasScope bool
}

// tokenWire is the JSON form. Unknown members are ignored.
type tokenWire struct {
	Access     Secret         `json:"access_token"`
	Refresh    Secret         `json:"refresh_token"`
	Type       string         `json:"token_type"`
	IssuedType string         `json:"issued_token_type"`
	ExpiresIn  jsontext.Value `json:"expires_in"`
	Scope      *string        `json:"scope"`
}

func (w *tokenWire) response(now time.Time) (*TokenResponse, error) {
	kind, err := parseType(w.Type)
	if err != nil {
		return nil, err
	}
	if w.Access == "" || !isToken(w.Access) || !isToken(w.Refresh) {
		return nil, fmt.Errorf("token: want visible ASCII characters, at most %d of them", maxToken)
	}
	t := &TokenResponse{Access: w.Access, Refresh: w.Refresh, Type: kind, IssuedType: w.IssuedType}
	if t.Expires, err = parseLifetime(w.ExpiresIn, now); err != nil {
		return nil, err
	}
	if w.Scope != nil {
		t.Scopes, t.HasScope = ParseScope(*w.Scope), true
	}
	return t, nil
}

// parseType returns the type as the constants spell it. Servers may use any case.
func parseType(text string) (string, error) {
	for _, known := range []string{TypeBearer, TypeDPoP, TypeNone} {
		if strings.EqualFold(text, known) {
			return known, nil
		}
	}
	return "", fmt.Errorf("token of unknown type: want %s or %s", TypeBearer, TypeDPoP)
}

// isToken reports whether a token can be sent in a header.
func isToken(s Secret) bool {
	return len(s) <= maxToken && span(s.Reveal(), func(c byte) bool { return '!' <= c && c <= '~' }) == len(s)
}

// parseLifetime returns when a token expires, for a lifetime in seconds. Some servers send the number
// as a string, and some 0 for tokens whose lifetime they do not tell: like no lifetime, it lets the
// token be tried.
func parseLifetime(v jsontext.Value, now time.Time) (time.Time, error) {
	text := strings.Trim(string(v), `"`)
	if text == "" || text == "null" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 {
		return time.Time{}, errors.New("expires_in: want a number of seconds")
	}
	if seconds == 0 {
		return time.Time{}, nil
	}
	return now.Add(time.Duration(min(seconds, maxLifetime.Seconds()) * float64(time.Second))).Truncate(time.Second), nil
}
