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

// maxLabel bounds the names that become labels, in bytes.
const maxLabel = 128

// ProfileLabels returns middleware that labels what runs for each message of a client,
// so that profiles of the processor and of goroutines (package runtime/pprof) can be
// told apart by it: "mcp.method" is its method and "mcp.name" the tool or prompt that it
// names, as its sender says, up to 128 bytes. Other messages, and longer names, have no
// "mcp.name". Arguments and URIs are in no label.
//
// The labels are in the context of the handler, and hold for the goroutines that it
// starts. What a handler asks its client has those of the handler. To find the name, the
// params of a call are read once more.
func ProfileLabels() mcpserver.Middleware {
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (result any, err error) {
			if r.Outbound {
				return next(ctx, r)
			}
			pprof.Do(ctx, labelsOf(r), func(ctx context.Context) { result, err = next(ctx, r) })
			return result, err
		}
	}
}

func labelsOf(r *mcpserver.Request) pprof.LabelSet {
	switch r.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		if name := nameIn(r.Params); name != "" && len(name) <= maxLabel {
			return pprof.Labels(labelMethod, r.Method, labelName, name)
		}
	}
	return pprof.Labels(labelMethod, r.Method)
}
