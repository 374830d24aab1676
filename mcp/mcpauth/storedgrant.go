package mcpauth

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dpop"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// ErrSignInRequired means that there is no token, and that only the user can
// get one by signing in.
var ErrSignInRequired = errors.New("sign-in required")

// grantKey identifies a grant. A grant is used only where all fields match.
type grantKey struct {
	Issuer   string // the authorization server that issued the tokens
	Resource string // the server to which they are sent
	Account  string // the user, see ClientOptions.Account
	ClientID string // the client to which they were issued
}

// String is the key in a Store.
func (k grantKey) String() string {
	return fmt.Sprintf("grant %q %q %q %q", k.Issuer, k.Resource, k.Account, k.ClientID)
}

// grant holds the tokens that an authorization server issued for a key.
type grant struct {
	Issuer   string       `json:"issuer"`
	Resource string       `json:"resource"`
	Account  string       `json:"account,omitzero"`
	ClientID string       `json:"client_id"`
	Access   oauth.Secret `json:"access_token"`
	Refresh  oauth.Secret `json:"refresh_token,omitzero"`
	Type     string       `json:"token_type"` // Bearer or DPoP
	Scopes   []string     `json:"scopes,omitempty"`
	// Expires is when the access token expires, by the clock of this machine, and Renew when to
	// renew it. Zero means only after it was refused.
	Expires time.Time `json:"expires,omitzero"`
	Renew   time.Time `json:"renew,omitzero"`
	// ProofKey is the private key to which the tokens are bound.
	ProofKey oauth.Secret `json:"proof_key,omitzero"`
	// Refused is whether the resource has refused the access token.
	Refused bool `json:"refused,omitzero"`
}

// maxMargin is the maximum time before its expiry at which an access token is
// renewed.
const maxMargin = time.Minute

// newGrant returns the grant of a token response for a key. The scopes asked are those of the
// request; the response has scopes only if the server granted others. The prover is that of the
// request.
//
// Spec: RFC 6749 5.1
func newGrant(key grantKey, t *oauth.TokenResponse, asked []string, p *dpop.Prover) (*grant, error) {
	g := &grant{
		Issuer: key.Issuer, Resource: key.Resource, Account: key.Account, ClientID: key.ClientID,
		Access: t.Access, Refresh: t.Refresh, Type: t.Type, Scopes: asked, Expires: t.Expires,
	}
	if t.Type == oauth.TypeNone {
		return nil, errors.New("token endpoint: the response has no access token")
	}
	if t.HasScope {
		g.Scopes = t.Scopes
	}
	if !t.Expires.IsZero() {
		g.Renew = t.Expires.Add(-min(maxMargin, time.Until(t.Expires)/4))
	}
	if p == nil {
		return g, nil
	}
	var err error
	g.ProofKey, err = p.Secret()
	return g, err
}

// key returns the key of the grant.
func (g *grant) key() grantKey { return grantKey{g.Issuer, g.Resource, g.Account, g.ClientID} }

// prover returns the prover of the key that the tokens are bound to, or nil if
// they are not bound.
func (g *grant) prover(n *dpop.Nonces) (*dpop.Prover, error) {
	if g.ProofKey == "" {
		return nil, nil
	}
	return dpop.ParseProver(g.ProofKey, n)
}

// usable reports whether the access token may be sent.
func (g *grant) usable(now time.Time) bool {
	return g != nil && !g.Refused && (g.Expires.IsZero() || now.Before(g.Expires))
}

// current reports whether the access token need not be renewed yet.
func (g *grant) current(now time.Time) bool {
	return g.usable(now) && (g.Renew.IsZero() || now.Before(g.Renew))
}

// withoutRefreshToken returns the grant without its refresh token, because that was refused.
func (g *grant) withoutRefreshToken() *grant {
	if g == nil {
		return nil
	}
	spent := *g
	spent.Refresh = ""
	return &spent
}

// registration holds the credentials of this client at an authorization server.
type registration struct {
	Issuer string       `json:"issuer"`
	ID     string       `json:"client_id"`
	Secret oauth.Secret `json:"client_secret,omitzero"`
	Method string       `json:"token_endpoint_auth_method"`
	// Redirect is the redirect URI that was registered; empty means any.
	Redirect string    `json:"redirect_uri,omitzero"`
	Expires  time.Time `json:"expires,omitzero"` // of the secret; zero is never
	// Doubtful is whether the server seems to have forgotten the client. The next sign-in registers
	// again; until that one has a token, the grants of this client can be used.
	Doubtful bool `json:"doubtful,omitzero"`
}

// isDynamic reports whether the client was registered dynamically.
func (r *registration) isDynamic() bool { return r.Redirect != "" }

// revealed encodes secrets in clear text, for a Store.
var revealed = json.WithMarshalers(json.MarshalToFunc(func(e *jsontext.Encoder, s oauth.Secret) error {
	return e.WriteToken(jsontext.String(s.Reveal()))
}))

// encodeRecord returns the value for a Store.
func encodeRecord(record any) ([]byte, error) {
	return json.Marshal(record, revealed, json.Deterministic(true))
}

// decodeRecord decodes a value of a Store; it returns nil for nil. Errors
// repeat nothing of the value.
func decodeRecord[T any](text []byte) (*T, error) {
	if text == nil {
		return nil, nil
	}
	record := new(T)
	if err := json.Unmarshal(text, record); err != nil {
		return nil, fmt.Errorf("token store: the value is not a valid %T: remove it to sign in again", *record)
	}
	return record, nil
}

// decodeGrant decodes the grant of a key. A grant of another issuer, resource, account or client is
// an error, so that it is never sent.
func decodeGrant(text []byte, key grantKey) (*grant, error) {
	g, err := decodeRecord[grant](text)
	if err != nil || g == nil {
		return nil, err
	}
	if g.key() != key {
		return nil, fmt.Errorf("token store: the value for %s at %s belongs to another issuer, server, account or client: remove it to sign in again", key.Resource, key.Issuer)
	}
	return g, nil
}
