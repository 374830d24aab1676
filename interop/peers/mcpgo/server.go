package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/interop/peers/plan"
)

// newServer returns the server of mcptest once more.
func newServer() *server.MCPServer {
	s := server.NewMCPServer("fixture", "1.0.0", append(serverOptions(),
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithLogging(),
	)...)
	addTools(s)
	addNewTools(s)
	addResources(s)
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithArgument("name", mcp.RequiredArgument())),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Greet "+r.Params.Arguments["name"]))
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{message}), nil
		})
	return s
}

type run func(context.Context, mcp.CallToolRequest) (string, error)

// tool registers a tool with a result that is text.
func tool(s *server.MCPServer, name string, run run, options ...mcp.ToolOption) {
	s.AddTool(mcp.NewTool(name, append(options, mcp.WithDescription(name))...),
		func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := run(ctx, r)
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText(text), nil
		})
}

func addTools(s *server.MCPServer) {
	tool(s, "echo", func(_ context.Context, r mcp.CallToolRequest) (string, error) { return r.RequireString("text") },
		mcp.WithString("text", mcp.Required()))
	tool(s, "fail", func(context.Context, mcp.CallToolRequest) (string, error) { return "", fmt.Errorf("it did not work") })
	tool(s, "steps", steps, mcp.WithNumber("n", mcp.Required()))
	tool(s, "wait", func(ctx context.Context, _ mcp.CallToolRequest) (string, error) {
		plan.Waiting.Add(1)
		defer plan.Waiting.Add(-1)
		<-ctx.Done()
		return "waited", nil
	})
	tool(s, "waits", func(context.Context, mcp.CallToolRequest) (string, error) { return plan.Waits(), nil })
	tool(s, "log", func(ctx context.Context, r mcp.CallToolRequest) (string, error) {
		data := map[string]any{"msg": r.GetString("text", "")}
		err := s.SendNotificationToClient(ctx, "notifications/message", map[string]any{"level": "info", "data": data})
		time.Sleep(10 * time.Millisecond) // over HTTP the SDK drops what it has not sent before the result
		return "logged", err
	}, mcp.WithString("text", mcp.Required()))
	var counter atomic.Int64
	tool(s, "touch", func(context.Context, mcp.CallToolRequest) (string, error) {
		n := counter.Add(1)
		s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": plan.Note("counter")})
		return fmt.Sprint(n), nil
	})
	tool(s, "grow", func(_ context.Context, r mcp.CallToolRequest) (string, error) {
		name, err := r.RequireString("name")
		if err != nil {
			return "", err
		}
		tool(s, name, func(context.Context, mcp.CallToolRequest) (string, error) { return "I am " + name, nil })
		return "grown", nil
	}, mcp.WithString("name", mcp.Required()))
}

func steps(ctx context.Context, r mcp.CallToolRequest) (string, error) {
	n := r.GetInt("n", 0)
	for i := range n {
		if m := r.Params.Meta; m != nil && m.ProgressToken != nil {
			err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress",
				map[string]any{"progressToken": m.ProgressToken, "progress": i + 1, "total": n})
			if err != nil {
				return "", err
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "done", nil
}

func addResources(s *server.MCPServer) {
	read := func(text func(uri string) string) func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: text(r.Params.URI)}}, nil
		}
	}
	s.AddResource(mcp.NewResource(plan.Note("hello"), "hello"), read(func(string) string { return "hello" }))
	s.AddResource(mcp.NewResource(plan.Note("counter"), "counter"), read(func(string) string { return "a number" }))
	s.AddResourceTemplate(mcp.NewResourceTemplate(plan.Note("by/{name}"), "by name"),
		read(func(uri string) string { return "a note by " + strings.TrimPrefix(uri, plan.Note("by/")) }))
}
