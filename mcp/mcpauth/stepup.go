package mcpauth

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// ErrDenied means that a server refuses a request, and that signing in again would not change this.
var ErrDenied = errors.New("not allowed")

// Limits of steps.
const (
	maxSteps   = 3
	stepWindow = 10 * time.Minute
	maxWatched = 1024
)

// step identifies an operation of a server that needed more scopes.
type step struct{ server, operation string }

// attempts holds the number of attempts for a step, and the scopes of the last
// one.
type attempts struct {
	count  int
	scopes []string
	last   time.Time
}

// stepUp lets the user grant the missing scopes in addition to all that were requested before. It
// does so at most three times for one operation, and only once for the same scopes; then it returns
// ErrDenied. With ManualSignIn the next SignIn requests them, and the error is ErrDenied once they
// were requested. Machines have configured scopes and do not try.
//
// Spec: 2026-07-28 basic/authorization#step-up-authorization-flow
func (c *Client) stepUp(req *http.Request, ch challenged) error {
	wanted := strings.Join(ch.scopes, " ")
	if c.grant != nil {
		return fmt.Errorf("%w: the server requires the scopes %q: grant them to the client at its authorization server, and add them to the scopes that it requests", ErrDenied, wanted)
	}
	return c.shared.do(req.Context(), serverURL(req.URL), func(ctx context.Context) error {
		if newer, err := c.newer(ctx, req); newer || err != nil {
			return err
		}
		t, err := c.discover(ctx, req, ch)
		if err != nil {
			return err
		}
		var held []string
		if b, err := c.boundTo(ctx, req.URL); err != nil {
			return err
		} else if b.isFor(t) {
			held = b.Scopes
		}
		scopes := c.scopes(t, ch, held)
		missing := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == scopeOfflineAccess || slices.Contains(held, s) })
		requested := len(missing) == 0
		switch {
		case c.opts.ManualSignIn && !requested:
			if err := c.recordMissing(ctx, t, scopes); err != nil {
				return err
			}
			return &missingScopesError{missing, c.prompt(ctx, t, scopes)}
		case !c.opts.ManualSignIn && c.allowStepUp(step{serverURL(req.URL), operation(req)}, scopes):
		case requested:
			return fmt.Errorf("%w: the server requires the scopes %q, also after they were requested: ask its operator to grant them", ErrDenied, wanted)
		default:
			return fmt.Errorf("%w: the server requires the scopes %q, and the user was asked for more scopes already: try again in %v", ErrDenied, wanted, stepWindow)
		}
		return c.shared.do(ctx, fmt.Sprintf("%q %q", t.metadata.Issuer, t.resource), func(ctx context.Context) error {
			return c.prompt(ctx, t, scopes)
		})
	})
}

// recordMissing stores scopes that the next sign-in at a server requests, in this process or another.
func (c *Client) recordMissing(ctx context.Context, t *target, scopes []string) error {
	var recorded *binding
	err := c.store.Update(ctx, c.bindingKey(t.server), func(old []byte) ([]byte, error) {
		b, err := decodeRecord[binding](old)
		if err != nil {
			return nil, err
		}
		switch {
		case b == nil:
			b = &binding{Issuer: t.metadata.Issuer, Resource: t.resource, Proof: t.proof, Old: t.old}
		case !b.isFor(t): // it has a token of another authorization server
			return old, nil
		}
		b.Missing = oauth.Scopes(slices.Concat(b.Missing, scopes))
		recorded = b
		return encodeRecord(b)
	})
	if err != nil || recorded == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bindings[t.server] = recorded
	return nil
}

// allowStepUp counts an attempt, and reports whether it is allowed.
func (c *Client) allowStepUp(s step, scopes []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for old, a := range c.steps {
		if now.Sub(a.last) > stepWindow || len(c.steps) > maxWatched {
			delete(c.steps, old)
		}
	}
	a := c.steps[s]
	if a == nil {
		a = new(attempts)
		c.steps[s] = a
	}
	if a.count == maxSteps || a.count > 0 && slices.Equal(a.scopes, scopes) {
		return false
	}
	a.count, a.scopes, a.last = a.count+1, scopes, now
	return true
}

// maxOperation is how many bytes of a request are read to determine its
// operation.
const maxOperation = 1 << 20

// operation identifies the operation of a request: its method, and the tool,
// prompt or resource. All other requests count as one operation.
func operation(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	var message struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"params"`
	}
	if json.UnmarshalRead(io.LimitReader(body, maxOperation), &message) != nil {
		return ""
	}
	return fmt.Sprintf("%.256q %.256q %.256q", message.Method, message.Params.Name, message.Params.URI)
}
