package gateway

import (
	"context"
	"regexp"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// promptCompleters complete the arguments of a prompt as the upstream does.
func (u *upstream) promptCompleters(name string, def mcp.Prompt) []mcpserver.PromptOption {
	if !u.completes() {
		return nil
	}
	var opts []mcpserver.PromptOption
	for _, a := range def.Arguments {
		opts = append(opts, mcpserver.CompleteArg(a.Name, u.completer(mcp.PromptRef(name))))
	}
	return opts
}

// templateCompleters complete the variables of a template as the upstream does.
func (u *upstream) templateCompleters(def mcp.ResourceTemplate) []mcpserver.ResourceOption {
	if !u.completes() {
		return nil
	}
	var opts []mcpserver.ResourceOption
	for _, name := range variables(def.URITemplate) {
		opts = append(opts, mcpserver.CompleteArg(name, u.completer(mcp.ResourceRef(def.URITemplate))))
	}
	return opts
}

// completes reports whether the upstream completes arguments. The first revision
// has completion without a capability that says so.
func (u *upstream) completes() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.client.Capabilities().Completions != nil || u.client.Revision() == mcp.V20241105
}

func (u *upstream) completer(ref mcp.Reference) mcpserver.Completer {
	return func(ctx context.Context, typed mcpserver.Completing) ([]string, error) {
		params := &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: typed.Argument, Value: typed.Value}}
		if len(typed.Others) > 0 {
			params.Context = &mcp.CompleteContext{Arguments: typed.Others}
		}
		found, err := forward(ctx, u, func(c *mcpclient.Client, opts ...mcpclient.CallOption) (*mcp.Completion, error) {
			return c.Complete(ctx, params, opts...)
		})
		if err != nil {
			return nil, err
		}
		return found.Values, nil
	}
}

var templateExpression = regexp.MustCompile(`\{[+#./;?&]?([^{}]*)\}`)

// variables returns the names of the variables of a URI template.
//
// Spec: RFC 6570 2.3
func variables(template string) []string {
	var names []string
	for _, expression := range templateExpression.FindAllStringSubmatch(template, -1) {
		for spec := range strings.SplitSeq(expression[1], ",") {
			name, _, _ := strings.Cut(strings.TrimSuffix(spec, "*"), ":")
			names = append(names, name)
		}
	}
	return names
}
