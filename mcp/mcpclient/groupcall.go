package mcpclient

import (
	"context"
	"fmt"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Tools lists the tools of all servers under their names in the group, ordered by server and
// name. If servers failed, it returns the tools of the others and a *GroupError.
func (g *Group) Tools(ctx context.Context, opts ...CallOption) ([]mcp.Tool, error) {
	return listAll(g.all(), func(m *member) ([]mcp.Tool, error) { return m.listTools(ctx, opts) })
}

// Prompts lists the prompts of all servers under their names in the group, ordered by server
// and name. If servers failed, it returns the prompts of the others and a *GroupError.
func (g *Group) Prompts(ctx context.Context, opts ...CallOption) ([]mcp.Prompt, error) {
	return listAll(g.all(), func(m *member) ([]mcp.Prompt, error) { return m.listPrompts(ctx, opts) })
}

// Resources lists the resources of all servers, ordered by server, each URI once. If servers
// failed, it returns the resources of the others and a *GroupError.
func (g *Group) Resources(ctx context.Context, opts ...CallOption) ([]mcp.Resource, error) {
	all, err := listAll(g.all(), func(m *member) ([]mcp.Resource, error) { return m.listResources(ctx, opts) })
	return firstOfEach(all, func(r *mcp.Resource) string { return r.URI }), err
}

// Templates lists the resource templates of all servers, ordered by server, each URI template
// once. If servers failed, it returns the templates of the others and a *GroupError.
func (g *Group) Templates(ctx context.Context, opts ...CallOption) ([]mcp.ResourceTemplate, error) {
	all, err := listAll(g.all(), func(m *member) ([]mcp.ResourceTemplate, error) { return m.listTemplates(ctx, opts) })
	return firstOfEach(all, func(t *mcp.ResourceTemplate) string { return t.URITemplate }), err
}

// listAll lists what all servers have, at the same time.
func listAll[Def any](members []*member, list func(*member) ([]Def, error)) ([]Def, error) {
	lists := make(map[*member][]Def, len(members))
	var mu sync.Mutex
	err := forEach(members, func(m *member) error {
		defs, err := list(m)
		mu.Lock()
		defer mu.Unlock()
		lists[m] = defs
		return err
	})
	var all []Def
	for _, m := range members {
		all = append(all, lists[m]...)
	}
	return all, err
}

// firstOfEach returns the first definition of each key.
func firstOfEach[Def any](all []Def, key func(*Def) string) []Def {
	seen := make(map[string]bool)
	kept := all[:0]
	for i := range all {
		if k := key(&all[i]); !seen[k] {
			seen[k] = true
			kept = append(kept, all[i])
		}
	}
	return kept
}

// Origin returns the server of a tool of the group and the name of the tool there. It sends
// no request. It returns false if the group has no such server, or if the name was truncated
// and Tools has not listed it.
func (g *Group) Origin(tool string) (server, name string, ok bool) {
	m, name, certain, err := g.resolve(toolKind, tool)
	if err != nil || !certain {
		return "", "", false
	}
	return m.name, name, true
}

// CallTool calls a tool of the group, see Client.CallTool. Errors name the tool at its server.
func (g *Group) CallTool(ctx context.Context, tool string, args any, opts ...CallOption) (*mcp.CallToolResult, error) {
	m, name, err := g.route(ctx, toolKind, tool)
	if err != nil {
		return nil, err
	}
	result, err := m.client.CallTool(ctx, name, args, opts...)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", m.name, err)
	}
	g.named.addContents(m.name, result.Content)
	return result, nil
}

// Call calls a tool of the group and returns its result as an Out, see Client.Call.
func (g *Group) Call[Out any](ctx context.Context, tool string, args any, opts ...CallOption) (Out, error) {
	var out Out
	result, err := g.CallTool(ctx, tool, args, opts...)
	if err != nil {
		return out, err
	}
	if err := decodeResult(result, &out); err != nil {
		return out, fmt.Errorf("call %q: %w", tool, err)
	}
	return out, nil
}

// GroupCall is one of several calls of tools, see Group.CallAll.
type GroupCall struct {
	// Tool is a name in the group.
	Tool string
	// Args has to encode as a JSON object; nil means no arguments.
	Args any
}

// GroupResult is the outcome of a GroupCall: a result or an error, as CallTool returns it.
type GroupResult struct {
	Result *mcp.CallToolResult
	Err    error
}

// CallAll makes all calls at the same time, such as those of one turn of a model, and returns
// their outcomes in the order of the calls. It returns when all calls have ended.
func (g *Group) CallAll(ctx context.Context, calls []GroupCall, opts ...CallOption) []GroupResult {
	results := make([]GroupResult, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		running.Go(func() {
			results[i].Err = usercode.Run(func() (err error) { // encoding of Args may panic
				results[i].Result, err = g.CallTool(ctx, call.Tool, call.Args, opts...)
				return err
			})
		})
	}
	running.Wait()
	return results
}

// GetPrompt gets a prompt of the group, see Client.GetPrompt.
func (g *Group) GetPrompt(ctx context.Context, prompt string, args map[string]string, opts ...CallOption) (*mcp.GetPromptResult, error) {
	m, name, err := g.route(ctx, promptKind, prompt)
	if err != nil {
		return nil, err
	}
	result, err := m.client.GetPrompt(ctx, name, args, opts...)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", m.name, err)
	}
	return result, nil
}

// ReadResource reads a resource from the server that its URI leads to, see Group and
// Client.ReadResource. To read it from another server, use Client.
func (g *Group) ReadResource(ctx context.Context, uri string, opts ...CallOption) (*mcp.ReadResourceResult, error) {
	m, err := g.resourceOwner(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", uri, err)
	}
	result, err := m.client.ReadResource(ctx, uri, opts...)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", m.name, err)
	}
	return result, nil
}
