package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/interop/peers/plan"
)

type (
	nothing struct{}
	texts   struct {
		Text string `json:"text"`
	}
	named struct {
		Name string `json:"name"`
	}
	count struct {
		N int `json:"n"`
	}
	addends struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	sum struct {
		Sum int `json:"sum"`
	}
)

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// tool registers a tool with a result that is text.
func tool[In any](s *mcp.Server, name string, run func(context.Context, *mcp.CallToolRequest, In) (string, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: name},
		func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			text, err := run(ctx, r, in)
			if err != nil {
				return nil, nil, err
			}
			return said(text), nil, nil
		})
}

// newServer returns the server of mcptest once more.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fixture", Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: plan.Starting(r.Params.Argument.Value)}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addTools(s)
	addResources(s)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			message := &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: "Greet " + r.Params.Arguments["name"]}}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{message}}, nil
		})
	return s
}

func addTools(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers"},
		func(_ context.Context, _ *mcp.CallToolRequest, in addends) (*mcp.CallToolResult, sum, error) {
			return nil, sum{in.A + in.B}, nil
		})
	tool(s, "echo", func(_ context.Context, _ *mcp.CallToolRequest, in texts) (string, error) { return in.Text, nil })
	tool(s, "fail", func(context.Context, *mcp.CallToolRequest, nothing) (string, error) {
		return "", errors.New("it did not work")
	})
	tool(s, "steps", steps)
	tool(s, "wait", func(ctx context.Context, _ *mcp.CallToolRequest, _ nothing) (string, error) {
		plan.Waiting.Add(1)
		defer plan.Waiting.Add(-1)
		<-ctx.Done()
		return "waited", nil
	})
	tool(s, "waits", func(context.Context, *mcp.CallToolRequest, nothing) (string, error) { return plan.Waits(), nil })
	tool(s, "log", func(ctx context.Context, r *mcp.CallToolRequest, in texts) (string, error) {
		return "logged", r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: map[string]any{"msg": in.Text}})
	})
	var counter atomic.Int64
	tool(s, "touch", func(ctx context.Context, _ *mcp.CallToolRequest, _ nothing) (string, error) {
		n := counter.Add(1)
		return fmt.Sprint(n), s.ResourceUpdated(context.WithoutCancel(ctx), &mcp.ResourceUpdatedNotificationParams{URI: plan.Note("counter")})
	})
	tool(s, "grow", func(_ context.Context, _ *mcp.CallToolRequest, in named) (string, error) {
		tool(s, in.Name, func(context.Context, *mcp.CallToolRequest, nothing) (string, error) { return "I am " + in.Name, nil })
		return "grown", nil
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: &jsonschema.Schema{Type: "object"}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return askByRounds(ctx, r)
		})
}

func steps(ctx context.Context, r *mcp.CallToolRequest, in count) (string, error) {
	for i := range in.N {
		if token := r.Params.GetProgressToken(); token != nil {
			p := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1), Total: float64(in.N)}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return "", err
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "done", nil
}

// question asks for a name.
var question = mcp.ElicitParams{Message: "Your name?", RequestedSchema: map[string]any{
	"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
}}

// ask asks in the middle of the call, as in all revisions before 2026-07-28.
func ask(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	params := question
	answer, err := r.Session.Elicit(ctx, &params)
	if err != nil {
		return nil, err
	}
	return hello(answer.Content["name"]), nil
}

func hello(name any) *mcp.CallToolResult { return said(fmt.Sprintf("Hello, %v", name)) }

func addResources(s *mcp.Server) {
	read := func(text func(uri string) string) mcp.ResourceHandler {
		return func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			contents := &mcp.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: text(r.Params.URI)}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
		}
	}
	s.AddResource(&mcp.Resource{URI: plan.Note("hello"), Name: "hello"}, read(func(string) string { return "hello" }))
	s.AddResource(&mcp.Resource{URI: plan.Note("counter"), Name: "counter"}, read(func(string) string { return "a number" }))
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: plan.Note("by/{name}"), Name: "by name"},
		read(func(uri string) string { return "a note by " + strings.TrimPrefix(uri, plan.Note("by/")) }))
}
