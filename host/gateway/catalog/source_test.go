package catalog

import (
	"context"
	"log/slog"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// newTestSet returns a set whose sources have the given keys, and the server in which it registers
// features that answer nothing.
func newTestSet(t *testing.T, keys ...string) (*Set, *mcpserver.Server) {
	t.Helper()
	set := NewSet()
	server := mcpserver.New("host", "1", &mcpserver.Options{Dynamic: true, RequestFeatures: set.RequestFeatures, Logger: slog.New(slog.DiscardHandler)})
	set.Register(server, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) { return nil, mcpserver.ErrNotFound })
	for _, key := range keys {
		set.Add(newTestSource(set, key))
	}
	return set, server
}

func newTestSource(set *Set, key string) *Source {
	return set.NewSource(SourceParams{
		Upstream: &host.Upstream{Key: key, Settings: host.Settings{Share: true}},
		Handlers: Handlers{
			Tool: func(Entry[mcp.Tool], *link.Conn) mcpserver.ToolHandler {
				return func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, mcpserver.ErrNotFound }
			},
			Prompt: func(string, *link.Conn) mcpserver.PromptHandler {
				return func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) { return nil, mcpserver.ErrNotFound }
			},
			PromptOptions:   func(string, *link.Conn) []mcpserver.PromptOption { return nil },
			TemplateOptions: func(string, *link.Conn) []mcpserver.ResourceOption { return nil },
		},
		Filter: func(_ context.Context, l host.Listing) (host.Admitted, error) {
			return host.Admitted{Surface: l.Surface}, nil
		},
		Record:     func(host.Decision, error) {},
		IsStarting: func() bool { return false },
		Log:        slog.New(slog.DiscardHandler),
	})
}
