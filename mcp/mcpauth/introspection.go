package mcpauth

import (
	"context"
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Limits of introspection.
const (
	// introspectionKept is how long a response is cached. A revoked token is
	// accepted for up to this time.
	introspectionKept = time.Minute
	// maxIntrospected is the maximum number of cached responses.
	maxIntrospected = 10_000
	// maxIntrospecting is the maximum number of concurrent introspection
	// requests.
	maxIntrospecting = 64
	// introspectionTimeout is the maximum time to wait for a free slot and for
	// the response.
	introspectionTimeout = 10 * time.Second
)

// Introspection configures token introspection at an issuer. Printing, logging
// or encoding it as JSON does not show the secret.
//
// Spec: RFC 7662
type Introspection struct {
	// Issuer is the issuer identifier of the authorization server.
	Issuer string
	// Endpoint is the URL of the introspection endpoint. Default: the
	// introspection_endpoint of the issuer's metadata.
	Endpoint string
	// ClientID and ClientSecret authenticate this server there, by HTTP Basic.
	ClientID     string
	ClientSecret string `json:"-"`
}

// Format prints everything but the secret, for every verb.
func (i Introspection) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "introspection by %q at %q as %q", i.Issuer, i.Endpoint, i.ClientID)
}

// LogValue is what Format prints.
func (i Introspection) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(i)) }

func (i *Introspection) check() error {
	if _, err := oauth.ParseIssuer(i.Issuer); err != nil {
		return err
	}
	if _, err := oauth.ParseEndpoint(i.Endpoint); i.Endpoint != "" && err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if i.ClientID == "" || i.ClientSecret == "" {
		return errors.New("want ClientID and ClientSecret, because introspection requires authentication")
	}
	return nil
}

// introspector verifies tokens by introspection. It caches only valid tokens,
// by their digest. Without a response it refuses the token.
type introspector struct {
	Introspection

	server *issuerServer
	skew   time.Duration
	slots  chan struct{} // holds a token for each running request

	mu     sync.Mutex // guards the field below
	cached map[tokenDigest]introspected
}

var _ tokenVerifier = (*introspector)(nil)

// tokenDigest is the digest of a token, as a cache key.
type tokenDigest [sha256.Size]byte

type introspected struct {
	token *Token
	until time.Time
}

func newIntrospector(i Introspection, server *issuerServer, skew time.Duration) *introspector {
	return &introspector{
		Introspection: i,
		server:        server,
		skew:          skew,
		slots:         make(chan struct{}, maxIntrospecting),
		cached:        make(map[tokenDigest]introspected),
	}
}

func (i *introspector) verify(ctx context.Context, token string) (*Token, error) {
	digest := tokenDigest(sha256.Sum256([]byte(token)))
	if t := i.lookup(digest, time.Now()); t != nil {
		return t, nil
	}
	ctx, cancel := context.WithTimeout(ctx, introspectionTimeout)
	defer cancel()
	select {
	case i.slots <- struct{}{}:
		defer func() { <-i.slots }()
	case <-ctx.Done():
		return nil, unavailable(context.Cause(ctx))
	}
	if t := i.lookup(digest, time.Now()); t != nil {
		return t, nil
	}
	answer, err := i.ask(ctx, token)
	if err != nil {
		return nil, unavailable(fmt.Errorf("introspect: %w", err))
	}
	t, err := i.read(answer)
	if err != nil {
		return nil, err
	}
	i.keep(digest, t, time.Now())
	return t, nil
}

// ask returns the response of the introspection endpoint. Errors repeat nothing
// of it, because it could contain the token.
//
// Spec: RFC 7662 2.1; RFC 6749 2.3.1
func (i *introspector) ask(ctx context.Context, token string) (jsontext.Value, error) {
	endpoint, err := i.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(i.ClientID), url.QueryEscape(i.ClientSecret))
	resp, err := i.server.http.Do(req)
	if err != nil {
		return nil, explainBlockedNetwork(oauth.BrokenError(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &oauth.StatusError{Status: resp.StatusCode}
	}
	var answer jsontext.Value
	return answer, oauth.ReadDocument(resp, &answer)
}

func (i *introspector) endpoint(ctx context.Context) (string, error) {
	if i.Endpoint != "" {
		return i.Endpoint, nil
	}
	return i.server.endpoint(ctx, "introspection_endpoint", func(d *issuerDocument) string { return d.Introspection })
}

// read returns the Token of a response for an active token. Without a subject,
// the subject is the client.
//
// Spec: RFC 7662 2.2
func (i *introspector) read(body jsontext.Value) (*Token, error) {
	var answer struct {
		claims

		Active *bool `json:"active"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Active == nil {
		return nil, unavailable(errors.New("introspect: the response is malformed, want a JSON object with active"))
	}
	if !*answer.Active {
		return nil, invalidToken("the token is not active")
	}
	if answer.Issuer != "" && !oauth.SameIdentifier(answer.Issuer, i.Issuer) {
		return nil, invalidToken("the token is of another issuer")
	}
	answer.Issuer = i.Issuer // one principal, whichever spelling the token has
	if err := answer.checkTimes(time.Now(), i.skew); err != nil {
		return nil, err
	}
	t, err := answer.token(body)
	if err == nil && t.Subject == "" {
		t.Subject = t.Client
	}
	return t, err
}

func (i *introspector) lookup(d tokenDigest, now time.Time) *Token {
	i.mu.Lock()
	defer i.mu.Unlock()
	if entry, ok := i.cached[d]; ok && now.Before(entry.until) {
		return entry.token
	}
	return nil
}

// keep caches a token. If the cache is full, it removes expired entries, or
// else any other.
func (i *introspector) keep(d tokenDigest, t *Token, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.cached) >= maxIntrospected {
		i.evict(now)
	}
	i.cached[d] = introspected{token: t, until: now.Add(introspectionKept)}
}

func (i *introspector) evict(now time.Time) {
	for d, entry := range i.cached {
		if !now.Before(entry.until) {
			delete(i.cached, d)
		}
	}
	for d := range i.cached {
		if len(i.cached) < maxIntrospected {
			return
		}
		delete(i.cached, d)
	}
}
