package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// maxTools bounds the tools in the cache. Further tools are called without mirrored
// headers, and their output is not checked.
const maxTools = 10_000

// toolCache keeps, for each listed tool, what calls of it need. The zero value is empty.
// All methods are safe for concurrent use.
type toolCache struct {
	lookup lookup[time.Time] // lists the tools for checkOutput and checkPins; returns when it began

	mu    sync.Mutex
	tools map[string]toolFacts // guarded by mu
}

type toolFacts struct {
	mirrors []dialect.Mirror
	output  *jsonschema.Validator // nil: no output schema
	pin     *pinnedTool           // nil: not pinned
}

func (tc *toolCache) put(name string, facts toolFacts) {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	if tc.tools == nil {
		tc.tools = make(map[string]toolFacts)
	}
	old, known := tc.tools[name]
	if known && old.pin.newerThan(facts.pin) { // the list came from a cache
		return
	}
	if known || len(tc.tools) < maxTools {
		tc.tools[name] = facts
	}
}

func (tc *toolCache) get(name string) (facts toolFacts, known bool) {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	facts, known = tc.tools[name]
	return facts, known
}

// clear removes all tools. It is called when the list of tools may have changed.
func (tc *toolCache) clear() {
	tc.lookup.forget()
	tc.mu.Lock()
	defer tc.mu.Unlock()
	clear(tc.tools)
}

// mirrors returns the arguments that a call repeats in headers.
func (tc *toolCache) mirrors(r *Request) []dialect.Mirror {
	if p, ok := r.Params.(*mcp.CallToolParams); ok {
		facts, _ := tc.get(p.Name)
		return facts.mirrors
	}
	return nil
}

// outputLookupTimeout bounds how long the result of a call waits for the output schema of
// its tool.
const outputLookupTimeout = 5 * time.Second

// checkOutput checks a result against the output schema of the tool. If the tool was not
// listed and the result has structured content, it lists the tools first, if the server
// declares them. An error of the list is not an error of the result.
func (c *Client) checkOutput(ctx context.Context, name string, result *mcp.CallToolResult) error {
	if c.opts.NoOutputCheck || result.IsError {
		return nil
	}
	facts, known := c.tools.get(name)
	if !known && result.StructuredContent != nil && c.opts.Prior == nil && c.Capabilities().Tools != nil {
		if _, err := c.tools.lookup.do(ctx, c, 0, c.listForOutput); err != nil {
			return nil
		}
		facts, _ = c.tools.get(name)
	}
	return facts.checkOutput(result)
}

// listForOutput lists the tools for checkOutput.
func (c *Client) listForOutput(ctx context.Context) (began time.Time, err error) {
	ctx, cancel := withTimeout(ctx, outputLookupTimeout, "no list of the tools within %v")
	defer cancel()
	if began, err = c.listForCache(ctx); err != nil {
		c.opts.logger().Info("structured results are not checked: the tools cannot be listed", "server", c.target.String(), "error", err)
	}
	return began, err
}

// listForCache puts all tools of the server into the cache. It returns when it began.
func (c *Client) listForCache(ctx context.Context, opts ...CallOption) (began time.Time, err error) {
	began = time.Now()
	for _, err := range c.Tools(ctx, opts...) {
		if err != nil {
			return began, err
		}
	}
	return began, nil
}

// checkOutput checks a result against the output schema of the tool. A schema that
// cannot be checked, because it is too costly or refers to another document, is not an
// error of the result.
//
// Spec: 2026-07-28 server/tools#output-schema
func (facts *toolFacts) checkOutput(result *mcp.CallToolResult) error {
	v := facts.output
	if v == nil {
		return nil
	}
	if result.StructuredContent == nil {
		return &ProtocolError{Err: errors.New("result without structured content, want some because the tool has an output schema")}
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](v.Validate(result.StructuredContent))
	if !ok {
		return nil
	}
	invalid.Subject = "structuredContent"
	return &ProtocolError{Err: fmt.Errorf("result does not satisfy the output schema: %w", invalid)}
}

// rememberTools puts tools that were received at the given time into the cache and returns those
// that may be called.
func (c *Client) rememberTools(tools []mcp.Tool, receivedAt time.Time) []mcp.Tool {
	callable := tools[:0]
	for _, t := range tools {
		facts, ok := c.factsOf(&t)
		if !ok {
			continue
		}
		t.Icons = c.checkedIcons(t.Name, t.Icons)
		facts.pin = c.pinnedTool(&t, receivedAt)
		c.tools.put(t.Name, facts)
		if facts.pin != nil && facts.pin.err != nil {
			facts.pin.warn(c, t.Name)
			continue
		}
		callable = append(callable, t)
	}
	return callable
}

// factsOf returns what calls of a tool need, except for its pin. It reports false for a tool
// that must not be called.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func (c *Client) factsOf(t *mcp.Tool) (facts toolFacts, ok bool) {
	if mirrors, numbers := c.headerMirroring(); mirrors {
		var err error
		if facts.mirrors, err = mirrorsOf(*t, numbers); err != nil {
			c.opts.logger().Warn("tool left out", "tool", t.Name, "error", err)
			return facts, false
		}
	}
	if len(t.OutputSchema) > jsonschema.MaxBytes {
		c.opts.logger().Warn("results are not checked", "tool", t.Name, "schema bytes", len(t.OutputSchema), "limit", jsonschema.MaxBytes)
	} else if t.OutputSchema != nil {
		facts.output = jsonschema.Lazy(t.OutputSchema, nil)
	}
	return facts, true
}

// learnTool puts a tool into the cache that this client has not listed. Its definition is of
// the caller, and so is not compared with a pin.
func (c *Client) learnTool(t *mcp.Tool) {
	if _, known := c.tools.get(t.Name); known {
		return
	}
	if facts, ok := c.factsOf(t); ok {
		c.tools.put(t.Name, facts)
	}
}

// headerMirroring reports whether the current connection repeats arguments in headers,
// and whether it does so for numbers.
func (c *Client) headerMirroring() (mirrors, numbers bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.mirrors(), c.current.dialect().Facts.NumberHeaders
}

func mirrorsOf(t mcp.Tool, numbers bool) ([]dialect.Mirror, error) {
	params, err := jsonschema.HeaderParams(t.InputSchema, numbers)
	if err != nil {
		return nil, err
	}
	var mirrors []dialect.Mirror
	for _, p := range params {
		mirrors = append(mirrors, dialect.Mirror{Name: p.Name, Path: p.Path})
	}
	return mirrors, nil
}

// relist lists the tools again after the server missed a mirrored header. It reports
// whether the called tool has mirrored arguments.
func (c *Client) relist(ctx context.Context, r *Request) bool {
	c.tools.clear()
	if _, err := c.listForCache(ctx, NoCache()); err != nil {
		return false
	}
	return len(c.tools.mirrors(r)) > 0 && c.checkPins(ctx, r) == nil
}
