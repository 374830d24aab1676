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
// ErrDenied. Machines have configured scopes and do not try.
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
		if !c.allowStepUp(step{serverURL(req.URL), operation(req)}, scopes) {
			return fmt.Errorf("%w: the server requires the scopes %q, also after they were requested: ask its operator to grant them", ErrDenied, wanted)
		}
		return c.shared.do(ctx, fmt.Sprintf("%q %q", t.metadata.Issuer, t.resource), func(ctx context.Context) error {
			return c.prompt(ctx, t, scopes)
		})
	})
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
