package mcpclient

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Complete asks how an argument of a prompt or of a resource template could go
// on. A Completer asks less often.
func (c *Client) Complete(ctx context.Context, params *mcp.CompleteParams, opts ...CallOption) (*mcp.Completion, error) {
	result, err := request[mcp.CompleteResult](ctx, c, mcp.MethodComplete, params, opts)
	if err != nil {
		return nil, fmt.Errorf("complete %q: %w", params.Argument.Name, err)
	}
	return &result.Completion, nil
}

// ErrSuperseded is returned by Completer.Complete when a later call has taken
// its place.
var ErrSuperseded = errors.New("a later completion has taken its place")

const (
	debounce       = 150 * time.Millisecond
	completionTTL  = time.Minute
	maxCompletions = 256
)

// Completer completes arguments while they are typed: it asks the server when
// the typing pauses, gives up what was asked for earlier text, and remembers
// answers for a minute. It is safe for concurrent use.
type Completer struct {
	client *Client
	ref    mcp.Reference

	mu        sync.Mutex
	supersede context.CancelCauseFunc     // of the call under way, or nil
	answers   map[string]cachedCompletion // by encoded question
}

type cachedCompletion struct {
	completion *mcp.Completion
	until      time.Time
}

// Completer returns a completer for the arguments of one prompt or resource
// template. It needs no closing.
func (c *Client) Completer(ref mcp.Reference) *Completer {
	return &Completer{client: c, ref: ref, answers: make(map[string]cachedCompletion)}
}

// Complete returns how the argument could go on, given what was typed of it and
// the arguments that are settled, which may be nil. It waits for 150 ms before it
// asks the server; a call that comes meanwhile ends it with ErrSuperseded.
func (c *Completer) Complete(ctx context.Context, argument, typed string, settled map[string]string) (*mcp.Completion, error) {
	params := &mcp.CompleteParams{Ref: c.ref, Argument: mcp.CompleteArgument{Name: argument, Value: typed}}
	if len(settled) > 0 {
		params.Context = &mcp.CompleteContext{Arguments: settled}
	}
	question, err := json.Marshal(params, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("complete %q: %w", argument, err)
	}
	ctx, done := c.begin(ctx)
	defer done(nil)
	if answer := c.cached(string(question)); answer != nil {
		return answer, nil
	}
	if err := sleep(ctx, debounce); err != nil {
		return nil, fmt.Errorf("complete %q: %w", argument, err)
	}
	answer, err := c.client.Complete(ctx, params)
	if err == nil {
		c.store(string(question), answer)
	}
	return answer, err
}

// begin takes the place of the call under way.
func (c *Completer) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.supersede != nil {
		c.supersede(ErrSuperseded)
	}
	c.supersede = cancel
	return ctx, cancel
}

func (c *Completer) cached(question string) *mcp.Completion {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.answers[question]; ok && time.Now().Before(r.until) {
		return r.completion
	}
	return nil
}

func (c *Completer) store(question string, answer *mcp.Completion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) >= maxCompletions {
		clear(c.answers)
	}
	c.answers[question] = cachedCompletion{answer, time.Now().Add(completionTTL)}
}
