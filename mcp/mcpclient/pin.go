package mcpclient

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxPinAge bounds how long the client relies on a list that it has compared with pins. A
// server that sends no notifications may have changed a definition since.
const maxPinAge = 5 * time.Minute

// PinOptions are the fingerprints of definitions that the user has approved. Before it sends
// a request that depends on one, the client compares it with what the server lists. If they
// differ or the server cannot list it, the request fails and is not sent; a difference is a
// *PinError.
//
// The client lists what it needs with the first such request, after a notification that the
// list has changed, on a new connection, and when the list is older than 5 minutes.
// Fingerprints can differ between revisions, see mcp.Fingerprint.
type PinOptions struct {
	// Tools holds the fingerprints of tools by name, see mcp.Tool.Fingerprint. Calls of a
	// tool with another definition fail, and Client.Tools leaves it out, so that a model
	// does not get a description that the user has not approved. Tools without a pin are
	// not affected. Default: none.
	Tools map[string]mcp.Fingerprint
	// Server is the fingerprint of everything that the server shows, see Client.Surface.
	// If anything has changed, calls of tools, prompts and reads of resources fail. It
	// does not fit servers that add and remove features by themselves. Default: none.
	Server mcp.Fingerprint
}

// PinError reports a request that was not sent, because the server shows another definition
// than the one in Options.Pins.
type PinError struct {
	// Tool is the name of the tool, or empty for PinOptions.Server.
	Tool string
	// Pinned is the fingerprint in Options.Pins.
	Pinned mcp.Fingerprint
	// Found is the fingerprint of what the server shows, or empty if it does not list the
	// tool.
	Found mcp.Fingerprint
	// Definition is the definition that was found, or nil if there is none or Tool is
	// empty. It was not approved: do not give it to a model.
	Definition *mcp.Tool
}

// Error names the tool and the fingerprints.
func (e *PinError) Error() string { return e.difference() + "; the request was not sent" }

// difference describes the definition that was found.
func (e *PinError) difference() string {
	subject := "the server"
	if e.Tool != "" {
		subject = fmt.Sprintf("tool %q", e.Tool)
	}
	if e.Found == "" {
		return fmt.Sprintf("%s is pinned to the definition %.12s and the server does not list it", subject, e.Pinned)
	}
	return fmt.Sprintf("%s has changed: found the definition %.12s, want the pinned %.12s", subject, e.Found, e.Pinned)
}

// pinnedTool is a pinned tool that the server has listed.
type pinnedTool struct {
	listed time.Time
	err    error // nil if it has the pinned definition
}

// newerThan reports whether the tool was listed after the other one.
func (p *pinnedTool) newerThan(other *pinnedTool) bool {
	return p != nil && other != nil && p.listed.After(other.listed)
}

// warn logs that a list leaves the tool out.
func (p *pinnedTool) warn(c *Client, name string) {
	reason := p.err.Error()
	if e, ok := errors.AsType[*PinError](p.err); ok {
		reason = e.difference()
	}
	c.opts.logger().Warn("tool left out of a list", "tool", name, "reason", reason)
}

// pinnedTool compares the definition of a tool, which was listed at the given time, with its pin. It returns nil if there is no
// pin.
func (c *Client) pinnedTool(t *mcp.Tool, listed time.Time) *pinnedTool {
	pin, ok := c.opts.Pins.Tools[t.Name]
	if !ok {
		return nil
	}
	p := &pinnedTool{listed: listed}
	found, err := t.Fingerprint()
	switch {
	case err != nil:
		p.err = err
	case found != pin:
		p.err = &PinError{Tool: t.Name, Pinned: pin, Found: found, Definition: new(*t)}
	}
	return p
}

// connectionFor returns the current connection. The definitions that the request depends on
// have their pinned fingerprints there.
func (c *Client) connectionFor(ctx context.Context, r *Request) (*connection, error) {
	for {
		k, err := c.currentConnection(ctx)
		if err != nil || len(c.opts.Pins.Tools) == 0 && c.opts.Pins.Server == "" {
			return k, err
		}
		if err := c.checkPins(ctx, r); err != nil {
			return nil, err
		}
		if again, err := c.currentConnection(ctx); again == k || err != nil {
			return again, err
		}
	}
}

// checkPins compares the definitions that a request depends on with their pins.
func (c *Client) checkPins(ctx context.Context, r *Request) error {
	pins := &c.opts.Pins
	switch r.Method {
	case mcp.MethodToolsCall:
		name := calledTool(r.Params)
		if pin, ok := pins.Tools[name]; ok {
			if err := c.checkToolPin(ctx, name, pin); err != nil {
				return err
			}
		}
	case mcp.MethodPromptsGet, mcp.MethodResourcesRead:
	default:
		return nil
	}
	if pins.Server == "" {
		return nil
	}
	found, err := c.surface.do(ctx, c, maxPinAge, c.surfaceFingerprint)
	switch {
	case err != nil:
		c.surface.forget()
		return fmt.Errorf("pin of the server: %w", err)
	case found != pins.Server:
		return &PinError{Pinned: pins.Server, Found: found}
	}
	return nil
}

// checkToolPin compares the definition of a tool with its pin.
func (c *Client) checkToolPin(ctx context.Context, name string, pin mcp.Fingerprint) error {
	if facts, known := c.tools.get(name); known && facts.pin != nil && time.Since(facts.pin.listed) <= maxPinAge {
		return facts.pin.err
	}
	began, err := c.tools.lookup.do(ctx, c, maxPinAge, func(ctx context.Context) (time.Time, error) {
		return c.listForCache(ctx, NoCache())
	})
	if err != nil {
		c.tools.lookup.forget()
		return fmt.Errorf("pin of tool %q: %w", name, err)
	}
	facts, known := c.tools.get(name)
	if !known || facts.pin == nil || facts.pin.listed.Before(began) {
		return &PinError{Tool: name, Pinned: pin}
	}
	return facts.pin.err
}

// calledTool returns the name of the tool that a request calls, whatever the type of its
// params.
func calledTool(params any) string {
	if p, ok := params.(*mcp.CallToolParams); ok {
		return p.Name
	}
	var p struct {
		Name string `json:"name"`
	}
	if raw, err := json.Marshal(params); err == nil {
		_ = json.Unmarshal(raw, &p)
	}
	return p.Name
}

// surfaceFingerprint reads what the server shows.
func (c *Client) surfaceFingerprint(ctx context.Context) (mcp.Fingerprint, error) {
	s, err := c.Surface(ctx, NoCache())
	if err != nil {
		return "", err
	}
	return s.Fingerprint()
}

// Surface lists everything that the server shows: instructions, tools, prompts, resources and
// resource templates. Its fingerprint is for PinOptions.Server, and mcptest.CompareSurfaces
// shows what has changed. Tools that Client.Tools leaves out are not in it.
func (c *Client) Surface(ctx context.Context, opts ...CallOption) (*mcp.Surface, error) {
	s := &mcp.Surface{Instructions: c.Instructions()}
	var errs [4]error
	s.Tools, errs[0] = collect(c.Tools(ctx, opts...))
	s.Prompts, errs[1] = collect(c.Prompts(ctx, opts...))
	s.Resources, errs[2] = collect(c.Resources(ctx, opts...))
	s.Templates, errs[3] = collect(c.Templates(ctx, opts...))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("surface: %w", err)
	}
	return s, nil
}

// collect returns all values of a list, up to the first error.
func collect[Item any](list iter.Seq2[Item, error]) ([]Item, error) {
	var all []Item
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}
