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

// Complete requests completions of an argument of a prompt or of a resource template. A
// Completer sends fewer requests while a user types. Params must not be nil.
func (c *Client) Complete(ctx context.Context, params *mcp.CompleteParams, opts ...CallOption) (*mcp.Completion, error) {
	result, err := request[mcp.CompleteResult](ctx, c, mcp.MethodComplete, params, opts)
	if err != nil {
		return nil, fmt.Errorf("complete %q: %w", params.Argument.Name, err)
	}
	return &result.Completion, nil
}

// ErrSuperseded is in the chain of the error of Completer.Complete if a later call of it
// began.
var ErrSuperseded = errors.New("superseded by a later completion")

const (
	debounce       = 150 * time.Millisecond
	completionTTL  = time.Minute
	maxCompletions = 256
)

// Completer completes arguments while a user types them. It waits until the typing
// pauses, cancels requests for earlier text, and caches up to 256 results for a minute.
// It is safe for concurrent use.
type Completer struct {
	client *Client
	ref    mcp.Reference

	mu        sync.Mutex
	supersede context.CancelCauseFunc     // cancels the last call, or nil
	results   map[string]cachedCompletion // by encoded params
}

type cachedCompletion struct {
	completion *mcp.Completion
	expires    time.Time
}

// Completer returns a completer for the arguments of one prompt or resource
// template. It holds no resources and needs no Close.
func (c *Client) Completer(ref mcp.Reference) *Completer {
	return &Completer{client: c, ref: ref, results: make(map[string]cachedCompletion)}
}

// Complete returns completions of the argument, given the text typed so far and the
// values of the other arguments, which may be nil. It waits for 150 ms before it sends
// the request. A later call cancels it, with ErrSuperseded in its error.
func (c *Completer) Complete(ctx context.Context, argument, typed string, others map[string]string) (*mcp.Completion, error) {
	params := &mcp.CompleteParams{Ref: c.ref, Argument: mcp.CompleteArgument{Name: argument, Value: typed}}
	if len(others) > 0 {
		params.Context = &mcp.CompleteContext{Arguments: others}
	}
	key, err := json.Marshal(params, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("complete %q: %w", argument, err)
	}
	ctx, done := c.begin(ctx)
	defer done(nil)
	if cached := c.cached(string(key)); cached != nil {
		return cached, nil
	}
	if err := sleep(ctx, debounce); err != nil {
		return nil, fmt.Errorf("complete %q: %w", argument, err)
	}
	completion, err := c.client.Complete(ctx, params)
	if err == nil {
		c.store(string(key), completion)
	}
	return completion, err
}

// begin cancels the previous call, and returns the context of a new one.
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

func (c *Completer) cached(key string) *mcp.Completion {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.results[key]; ok && time.Now().Before(r.expires) {
		return r.completion
	}
	return nil
}

func (c *Completer) store(key string, completion *mcp.Completion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.results) >= maxCompletions {
		clear(c.results)
	}
	c.results[key] = cachedCompletion{completion, time.Now().Add(completionTTL)}
}
