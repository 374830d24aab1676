package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/interop/peers/plan"
)

type session struct{ *mcp.ClientSession }

func connect(ctx context.Context, target string, heard func(plan.Notification)) (plan.Session, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: plan.Answer(r.Params.Message)}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "none", Content: &mcp.TextContent{Text: "an ode"}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			heard(plan.Notification{Method: "notifications/tools/list_changed"})
		},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			heard(plan.Notification{Method: "notifications/resources/list_changed"})
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			heard(plan.Notification{Method: "notifications/resources/updated", URI: r.Params.URI})
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			heard(plan.Notification{Method: "notifications/message", Data: r.Params.Data})
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			heard(plan.Notification{Method: "notifications/progress", Progress: r.Params.Progress})
		},
	})
	s, err := client.Connect(ctx, transport(target), nil)
	if err != nil {
		return nil, err
	}
	return session{s}, nil
}

func transport(target string) mcp.Transport {
	if words, ok := plan.Command(target); ok {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stderr = os.Stderr
		return &mcp.CommandTransport{Command: cmd}
	}
	if url, ok := strings.CutPrefix(target, "sse+"); ok {
		return &mcp.SSEClientTransport{Endpoint: url}
	}
	return &mcp.StreamableClientTransport{Endpoint: target}
}

func (s session) Revision() string { return s.InitializeResult().ProtocolVersion }

func (s session) List(ctx context.Context, kind string) (names []string, err error) {
	switch kind {
	case "tools":
		for t, err := range s.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, t.Name)
		}
	case "resources":
		for r, err := range s.Resources(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, r.URI)
		}
	case "templates":
		for t, err := range s.ResourceTemplates(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, t.URITemplate)
		}
	case "prompts":
		for p, err := range s.Prompts(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, p.Name)
		}
	}
	return names, nil
}

func (s session) Call(ctx context.Context, c plan.Call) (*plan.Result, error) {
	p := &mcp.CallToolParams{Name: c.Name, Arguments: c.Arguments, Meta: mcp.Meta{}}
	if c.Progress {
		p.SetProgressToken("progress")
	}
	if c.Log && s.Revision() >= "2026-07-28" {
		p.Meta["io.modelcontextprotocol/logLevel"] = "debug"
	}
	r, err := s.CallTool(ctx, p)
	if err != nil {
		return nil, err
	}
	return &plan.Result{Text: text(r.Content...), Structured: r.StructuredContent, IsError: r.IsError}, nil
}

func text(content ...mcp.Content) string {
	var texts []string
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		} else {
			texts = append(texts, fmt.Sprintf("%T", c))
		}
	}
	return strings.Join(texts, "|")
}

func (s session) Read(ctx context.Context, uri string) (string, error) {
	r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return r.Contents[0].Text, nil
}

func (s session) Get(ctx context.Context, prompt string, arguments map[string]string) (string, error) {
	r, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt, Arguments: arguments})
	if err != nil {
		return "", err
	}
	var all []mcp.Content
	for _, m := range r.Messages {
		all = append(all, m.Content)
	}
	return text(all...), nil
}

func (s session) Complete(ctx context.Context, r plan.Reference, a plan.Argument) ([]string, error) {
	c, err := s.ClientSession.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: r.Type, Name: r.Name, URI: r.URI},
		Argument: mcp.CompleteParamsArgument{Name: a.Name, Value: a.Value},
	})
	if err != nil {
		return nil, err
	}
	return c.Completion.Values, nil
}

// Listen does nothing for lists: the client asks for their changes when it connects.
func (s session) Listen(ctx context.Context, uri string) error {
	if uri == "" {
		return nil
	}
	return s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

func (s session) SetLevel(ctx context.Context) error {
	if s.Revision() >= "2026-07-28" {
		return nil // the level is part of each request
	}
	return s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"})
}
