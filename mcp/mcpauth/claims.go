package mcpauth

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jwt"
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
	Expires         *jwt.Date                 `json:"exp"`
	NotBefore       *jwt.Date                 `json:"nbf"`
	IssuedAt        *jwt.Date                 `json:"iat"`
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

// checkTimes checks nbf and iat. Resource.checkToken checks the expiry of every
// token, whichever way it was verified.
func (c *claims) checkTimes(now time.Time, skew time.Duration) error {
	switch {
	case !c.Expires.InRange() || !c.NotBefore.InRange() || !c.IssuedAt.InRange():
		return invalidToken("the token has a time that is none")
	case c.NotBefore != nil && c.NotBefore.Time().After(now.Add(skew)):
		return invalidToken("the token is not valid yet")
	case c.IssuedAt != nil && c.IssuedAt.Time().After(now.Add(skew)):
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
		Expires:  c.Expires.Time(),
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
