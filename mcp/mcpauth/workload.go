package mcpauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// Workload gets tokens for a program by its workload identity: a JWT of the platform on which it
// runs, which the authorization server trusts.
//
// If the server refuses an assertion, it is not sent again for the same request, and no other
// method is tried. The next assertion is sent.
//
// Spec: io.modelcontextprotocol/auth/wif (draft); RFC 7523 2.1
type Workload struct {
	// Issuer is the authorization server that trusts the platform. Required.
	Issuer string
	// ID is the identifier of the client. Required.
	ID string
	// Assertion returns a current JWT of the platform. It is called for each
	// request. AssertionFile returns such a function for a file. Required.
	Assertion func(ctx context.Context) (Secret, error)
	// Scopes are requested in addition to those that the MCP server requires.
	Scopes []string
}

const maxAssertion = 64 << 10

// AssertionFile returns a function that reads the assertion from a file of at
// most 64 KiB. It reads the file on each call, because platforms replace it
// before the assertion expires.
func AssertionFile(path string) func(context.Context) (Secret, error) {
	return func(context.Context) (Secret, error) {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxAssertion+1))
		if err != nil {
			return "", err
		}
		if len(text) > maxAssertion {
			return "", fmt.Errorf("%s has more than %d bytes", path, maxAssertion)
		}
		return Secret(strings.TrimSpace(string(text))), nil
	}
}

func (w *Workload) activate() (activeGrant, error) {
	identity, err := newClientIdentity(w.Issuer, w.ID, "", nil)
	if err == nil && w.Assertion == nil {
		err = errors.New("want Assertion")
	}
	if err != nil {
		return nil, fmt.Errorf("workload identity: %w", err)
	}
	return &workload{clientIdentity: identity, scopes: w.Scopes, assertion: w.Assertion, refused: make(map[attempt]error)}, nil
}

type workload struct {
	*clientIdentity
	scopes    []string
	assertion func(context.Context) (Secret, error)

	mu      sync.Mutex
	refused map[attempt]error // at most maxRefused
}

const maxRefused = 64

// attempt is the digest of an assertion and of the request that it was sent in.
type attempt [sha256.Size]byte

func (w *workload) acquire(ctx context.Context, r *grantRequest) (*grant, error) {
	g, err := w.acquireToken(ctx, r, union(w.scopes, r.Scopes))
	if err != nil {
		return nil, fmt.Errorf("workload identity: %w", err)
	}
	return g, nil
}

func (w *workload) acquireToken(ctx context.Context, r *grantRequest, scopes []string) (*grant, error) {
	if err := w.check(r); err != nil {
		return nil, err
	}
	assertion, err := w.assertion(ctx)
	if err != nil {
		return nil, fmt.Errorf("assertion: %w", err)
	}
	if assertion == "" {
		return nil, errors.New("assertion: want one that is not empty")
	}
	a := attempt(sha256.Sum256(fmt.Appendf(nil, "%q %q %q", r.Resource, scopes, assertion.Reveal())))
	if err := w.refusal(a); err != nil {
		return nil, fmt.Errorf("%w; the same assertion is not sent again", err)
	}
	g, err := w.request(ctx, r, url.Values{"grant_type": {grantJWTBearer}, "assertion": {assertion.Reveal()}}, scopes)
	if isRefusal(err) {
		w.remember(a, err)
	}
	return g, err
}

// isRefusal reports whether an error is a permanent refusal: repeating the same request later would
// not help.
func isRefusal(err error) bool {
	refused, ok := errors.AsType[*oauth.Error](err)
	return ok && refused.Status < 500 && refused.Status != http.StatusTooManyRequests && refused.Status != http.StatusRequestTimeout
}

func (w *workload) refusal(a attempt) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused[a]
}

func (w *workload) remember(a attempt, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refused) >= maxRefused {
		clear(w.refused)
	}
	w.refused[a] = err
}
