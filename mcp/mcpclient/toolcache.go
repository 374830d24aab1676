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

// maxTools bounds the tools in the cache. Further tools are called without mirrored
// headers, and their output is not checked.
const maxTools = 10_000

// toolCache keeps, for each listed tool, what calls of it need. The zero value is empty.
// All methods are safe for concurrent use.
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

// clear removes all tools. It is called when the list of tools may have changed.
func (tc *toolCache) clear() {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	clear(tc.tools)
}

// mirrors returns the arguments that a call repeats in headers.
func (tc *toolCache) mirrors(r *Request) []dialect.Mirror {
	if p, ok := r.Params.(*mcp.CallToolParams); ok {
		return tc.get(p.Name).mirrors
	}
	return nil
}

// checkOutput checks a result against the output schema of the tool. A schema that
// cannot be checked, because it is too costly or refers to another document, is not an
// error of the result.
//
// Spec: 2026-07-28 server/tools#output-schema
func (tc *toolCache) checkOutput(name string, result *mcp.CallToolResult) error {
	v := tc.get(name).output
	if v == nil || result.IsError {
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

// rememberTools puts tools into the cache and returns those that may be called.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func (c *Client) rememberTools(tools []mcp.Tool) []mcp.Tool {
	mirrors, numbers := c.headerMirroring()
	callable := tools[:0]
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
		t.Icons = c.checkedIcons(t.Name, t.Icons)
		callable = append(callable, t)
	}
	return callable
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
	for _, err := range c.Tools(ctx, NoCache()) {
		if err != nil {
			return false
		}
	}
	return len(c.tools.mirrors(r)) > 0
}
