package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

// maxTools bounds the tools that are remembered. What comes on top is called
// without mirrored headers and without a check of its output.
const maxTools = 10_000

// toolCache remembers of the tools that were listed what their calls need. The
// zero value is ready for use; all methods are safe for concurrent use.
type toolCache struct {
	mu    sync.Mutex
	tools map[string]toolFacts
}

type toolFacts struct {
	mirrors []dialect.Mirror
	output  *jsonschema.Validator // nil: no output schema
}

func (tc *toolCache) put(name string, facts toolFacts) {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	if tc.tools == nil {
		tc.tools = make(map[string]toolFacts)
	}
	if _, known := tc.tools[name]; known || len(tc.tools) < maxTools {
		tc.tools[name] = facts
	}
}

func (tc *toolCache) get(name string) toolFacts {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	return tc.tools[name]
}

// forget drops everything, for the tools have changed.
func (tc *toolCache) forget() {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	clear(tc.tools)
}

// mirrors returns the arguments that a call mirrors in headers.
func (tc *toolCache) mirrors(r *Request) []dialect.Mirror {
	if p, ok := r.Params.(*mcp.CallToolParams); ok {
		return tc.get(p.Name).mirrors
	}
	return nil
}

// checkOutput holds a result against the output schema of the tool. A schema
// that cannot be checked, because it is too costly or refers elsewhere, is no
// fault of the result.
//
// Spec: 2026-07-28 server/tools#output-schema
func (tc *toolCache) checkOutput(name string, result *mcp.CallToolResult) error {
	v := tc.get(name).output
	if v == nil || result.IsError {
		return nil
	}
	if result.StructuredContent == nil {
		return &ProtocolError{Err: errors.New("result without structured content: the tool has an output schema")}
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](v.Validate(result.StructuredContent))
	if !ok {
		return nil
	}
	invalid.Subject = "structuredContent"
	return &ProtocolError{Err: fmt.Errorf("result does not satisfy the output schema: %w", invalid)}
}

// rememberTools remembers tools and returns those that may be called.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func (c *Client) rememberTools(tools []mcp.Tool) []mcp.Tool {
	mirrors, numbers := c.mirrorsNow()
	kept := tools[:0]
	for _, t := range tools {
		facts := toolFacts{}
		if mirrors {
			var err error
			if facts.mirrors, err = mirrorsOf(t, numbers); err != nil {
				c.opts.logger().Warn("tool left out", "tool", t.Name, "error", err)
				continue
			}
		}
		if len(t.OutputSchema) > jsonschema.MaxBytes {
			c.opts.logger().Warn("results are not checked", "tool", t.Name, "schema bytes", len(t.OutputSchema), "limit", jsonschema.MaxBytes)
		} else if t.OutputSchema != nil {
			facts.output = jsonschema.Lazy(t.OutputSchema, nil)
		}
		c.tools.put(t.Name, facts)
		t.Icons = c.icons(t.Name, t.Icons)
		kept = append(kept, t)
	}
	return kept
}

// mirrorsNow reports whether arguments travel in headers now, and whether numbers
// may.
func (c *Client) mirrorsNow() (mirrors, numbers bool) {
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

// relist lists the tools again, because the server missed a mirrored header, and
// reports whether the tool of the call has any.
func (c *Client) relist(ctx context.Context, r *Request) bool {
	c.tools.forget()
	for _, err := range c.Tools(ctx, NoCache()) {
		if err != nil {
			return false
		}
	}
	return len(c.tools.mirrors(r)) > 0
}
