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
	// introspectionKept is how long an answer is used again. A token that its
	// issuer has revoked lives on for so long.
	introspectionKept = time.Minute
	// maxIntrospected bounds how many answers are kept.
	maxIntrospected = 10_000
	// maxIntrospecting bounds how many questions are asked at once.
	maxIntrospecting = 64
	// introspectionTimeout is how long a request waits for the answer, and for
	// its turn to ask.
	introspectionTimeout = 10 * time.Second
)

// Introspection says how an issuer is asked about tokens. It hides the secret
// when it is printed, logged or written as JSON.
//
// Spec: RFC 7662
type Introspection struct {
	// Issuer is the issuer identifier of the authorization server.
	Issuer string
	// Endpoint is where it is asked. Default: the introspection_endpoint of its
	// metadata.
	Endpoint string
	// ClientID and ClientSecret authenticate this server there, by HTTP Basic.
	ClientID     string
	ClientSecret string `json:"-"`
}

// Format prints everything but the secret, whatever the verb.
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
		return errors.New("want ClientID and ClientSecret: who asks has to authenticate")
	}
	return nil
}

// introspector verifies tokens by asking their issuer. Only tokens that are good
// are remembered, by their digest. Without an answer nothing passes.
type introspector struct {
	Introspection

	server *issuerServer
	skew   time.Duration
	slots  chan struct{} // one for each question that is being asked

	mu   sync.Mutex // guards the field below
	kept map[tokenDigest]introspected
}

var _ tokenVerifier = (*introspector)(nil)

// tokenDigest stands for a token where it would be kept.
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
		kept:          make(map[tokenDigest]introspected),
	}
}

func (i *introspector) verify(ctx context.Context, token string) (*Token, error) {
	digest := tokenDigest(sha256.Sum256([]byte(token)))
	if t := i.recall(digest, time.Now()); t != nil {
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
	if t := i.recall(digest, time.Now()); t != nil {
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

// ask returns the answer of the introspection endpoint. Errors repeat nothing of
// it, since it could hold the token.
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
		return nil, hinted(oauth.BrokenError(err))
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
	d, err := i.server.document(ctx)
	if err != nil {
		return "", err
	}
	if _, err := oauth.ParseEndpoint(d.Introspection); err != nil {
		return "", fmt.Errorf("introspection_endpoint of issuer %s: %w", i.Issuer, err)
	}
	return d.Introspection, nil
}

// read returns what an answer says of a token that is active. Who is not named
// is the client itself.
//
// Spec: RFC 7662 2.2
func (i *introspector) read(body jsontext.Value) (*Token, error) {
	var answer struct {
		claims

		Active *bool `json:"active"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Active == nil {
		return nil, unavailable(errors.New("introspect: the answer is malformed: want a JSON object with active"))
	}
	if !*answer.Active {
		return nil, invalidToken("the token is not active")
	}
	if answer.Issuer == "" {
		answer.Issuer = i.Issuer
	}
	if answer.Issuer != i.Issuer {
		return nil, invalidToken("the token is of another issuer")
	}
	if err := answer.checkTimes(time.Now(), i.skew); err != nil {
		return nil, err
	}
	t, err := answer.token(body)
	if err == nil && t.Subject == "" {
		t.Subject = t.Client
	}
	return t, err
}

func (i *introspector) recall(d tokenDigest, now time.Time) *Token {
	i.mu.Lock()
	defer i.mu.Unlock()
	if known, ok := i.kept[d]; ok && now.Before(known.until) {
		return known.token
	}
	return nil
}

// keep remembers a token. Where there is no room, what is over goes first, and
// then any other.
func (i *introspector) keep(d tokenDigest, t *Token, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.kept) >= maxIntrospected {
		i.makeRoom(now)
	}
	i.kept[d] = introspected{token: t, until: now.Add(introspectionKept)}
}

func (i *introspector) makeRoom(now time.Time) {
	for d, known := range i.kept {
		if !now.Before(known.until) {
			delete(i.kept, d)
		}
	}
	for d := range i.kept {
		if len(i.kept) < maxIntrospected {
			return
		}
		delete(i.kept, d)
	}
}
