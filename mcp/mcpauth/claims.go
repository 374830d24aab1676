package mcpauth

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"math"
	"strings"
	"time"
)

// claims are the claims about a token, in a JWT or an introspection response.
// Unknown ones are kept only in Token.Claims; a claim that occurs twice is an
// error.
//
// Spec: RFC 9068 2.2; RFC 7662 2.2; RFC 7519 4.1
type claims struct {
	Issuer          string                    `json:"iss"`
	Subject         string                    `json:"sub"`
	Audience        textOrList                `json:"aud"`
	Expires         *numericDate              `json:"exp"`
	NotBefore       *numericDate              `json:"nbf"`
	IssuedAt        *numericDate              `json:"iat"`
	ClientID        string                    `json:"client_id"`
	AuthorizedParty string                    `json:"azp"`
	Scope           textOrList                `json:"scope"`
	ScopeList       textOrList                `json:"scp"`
	Confirmation    map[string]jsontext.Value `json:"cnf"`
}

// textOrList is a string or an array of strings.
type textOrList []string

// UnmarshalJSON reads both forms. Everything else is an error.
func (l *textOrList) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '"' {
		*l = make(textOrList, 1)
		return json.Unmarshal(data, &(*l)[0])
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// words returns the words of all strings.
func (l textOrList) words() (words []string) {
	for _, s := range l {
		words = append(words, strings.Fields(s)...)
	}
	return words
}

// numericDate is a number of seconds since 1970.
//
// Spec: RFC 7519 2
type numericDate float64

// latestDate is the maximum date, which time.Time can represent.
const latestDate = 1 << 40

// inRange reports whether the date is in the supported range.
func (d *numericDate) inRange() bool { return d == nil || *d > 0 && *d < latestDate }

// time returns the date without fractions of a second, or the zero time for
// nil.
func (d *numericDate) time() time.Time {
	if d == nil {
		return time.Time{}
	}
	return time.Unix(int64(math.Floor(float64(*d))), 0)
}

// checkTimes checks nbf and iat. Resource.checkToken checks the expiry of every
// token, whichever way it was verified.
func (c *claims) checkTimes(now time.Time, skew time.Duration) error {
	switch {
	case !c.Expires.inRange() || !c.NotBefore.inRange() || !c.IssuedAt.inRange():
		return invalidToken("the token has a time that is none")
	case c.NotBefore != nil && c.NotBefore.time().After(now.Add(skew)):
		return invalidToken("the token is not valid yet")
	case c.IssuedAt != nil && c.IssuedAt.time().After(now.Add(skew)):
		return invalidToken("the token was issued in the future")
	}
	return nil
}

// token converts the claims to the Token that all verifiers return.
func (c *claims) token(raw []byte) (*Token, error) {
	proofKey, ok := c.proofKey()
	if !ok {
		return nil, invalidToken("the token is bound in a way that is not supported: want cnf with jkt alone")
	}
	client := c.ClientID
	if client == "" {
		client = c.AuthorizedParty
	}
	return &Token{
		Issuer:   c.Issuer,
		Subject:  c.Subject,
		Client:   client,
		Audience: c.Audience,
		Scopes:   append(c.Scope.words(), c.ScopeList.words()...),
		Expires:  c.Expires.time(),
		ProofKey: proofKey,
		Claims:   raw,
	}, nil
}

// proofKey returns the thumbprint of the key that the token is bound to. It
// reports false if the token is bound to something that cannot be checked here,
// such as a client certificate.
//
// Spec: RFC 9449 6.1; RFC 7800 3.1
func (c *claims) proofKey() (thumbprint string, ok bool) {
	if c.Confirmation == nil {
		return "", true
	}
	if len(c.Confirmation) != 1 || json.Unmarshal(c.Confirmation["jkt"], &thumbprint) != nil {
		return "", false
	}
	return thumbprint, thumbprint != ""
}
