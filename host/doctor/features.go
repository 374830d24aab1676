package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// checkFeatures lists what the server offers.
func checkFeatures(ctx context.Context, e *examination) {
	ctx, cancel := context.WithTimeout(ctx, e.opts.step())
	defer cancel()
	s, err := e.session.client.Surface(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.fail(FeaturesFailed, "FONDACO_WIRE=1 "+e.doctorCommand(), "the server did not list its features within %v", e.opts.step())
		return
	case err != nil:
		e.fail(FeaturesFailed, "FONDACO_WIRE=1 "+e.doctorCommand(), "the features of the server cannot be listed: %v", err)
		return
	}
	e.surface = s
	var parts []string
	for _, kind := range []struct {
		n    int
		name string
	}{{len(s.Tools), "tool"}, {len(s.Prompts), "prompt"}, {len(s.Resources), "resource"}, {len(s.Templates), "resource template"}} {
		switch {
		case kind.n == 1:
			parts = append(parts, "1 "+kind.name)
		case kind.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", kind.n, kind.name))
		}
	}
	if len(parts) == 0 {
		e.warn(FeaturesNone, "", "the server has no tools, prompts or resources, at least for this user")
		return
	}
	e.pass("%s", strings.Join(parts, ", "))
}

// checkCall sends a ping, and calls the tool of the options.
func checkCall(ctx context.Context, e *examination) {
	ctx, cancel := context.WithTimeout(ctx, e.opts.step())
	defer cancel()
	c := e.session.client
	if e.opts.Tool == "" {
		if err := c.Ping(ctx); err != nil {
			e.fail(PingFailed, "FONDACO_WIRE=1 "+e.doctorCommand(), "the server does not answer a ping: %v", err)
			return
		}
		e.pass("the server answers a ping; --tool calls a tool")
		return
	}
	if e.surface != nil && !hasTool(e.surface.Tools, e.opts.Tool) {
		e.fail(CallUnknown, e.doctorCommand(), "the server lists no tool %q", e.opts.Tool)
		return
	}
	result, err := c.CallTool(ctx, e.opts.Tool, e.opts.Arguments)
	switch {
	case err != nil:
		e.fail(CallFailed, "FONDACO_WIRE=1 "+e.doctorCommand(), "the call of %s fails: %v", e.opts.Tool, err)
	case result.IsError:
		e.fail(CallToolError, "", "the tool %s returned an error: %s", e.opts.Tool, result.Content.Text())
	default:
		e.pass("the call of %s returned a result", e.opts.Tool)
	}
}

func hasTool(tools []mcp.Tool, name string) bool {
	for i := range tools {
		if tools[i].Name == name {
			return true
		}
	}
	return false
}
