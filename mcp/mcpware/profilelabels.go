package mcpware

import (
	"context"
	"runtime/pprof"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// The keys of the labels of ProfileLabels.
const (
	labelMethod = "mcp.method"
	labelName   = "mcp.name"
)

// maxLabel is the maximum length of a name in a label, in bytes.
const maxLabel = 128

// ProfileLabels returns middleware that sets labels of package runtime/pprof for the handler of
// each message of a client, so that CPU and goroutine profiles can be filtered by them:
// "mcp.method" is the method, and "mcp.name" the tool or prompt in the params, up to 128 bytes.
// Other messages, and those with longer names, have no "mcp.name". No label has arguments or URIs.
//
// The labels are in the context of the handler, and apply to goroutines that it starts and to its
// requests to the client. To find the name, the middleware reads the params of a call again.
func ProfileLabels() mcpserver.Middleware {
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (result any, err error) {
			if r.Outbound() {
				return next(ctx, r)
			}
			pprof.Do(ctx, labelsOf(r), func(ctx context.Context) { result, err = next(ctx, r) })
			return result, err
		}
	}
}

func labelsOf(r *mcpserver.Request) pprof.LabelSet {
	switch r.Method() {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		if name := nameIn(r.Params()); name != "" && len(name) <= maxLabel {
			return pprof.Labels(labelMethod, r.Method(), labelName, name)
		}
	}
	return pprof.Labels(labelMethod, r.Method())
}
