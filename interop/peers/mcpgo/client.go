package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/fondaco/fondaco/interop/peers/plan"
)

type session struct {
	*client.Client
	revision string
}

func connect(ctx context.Context, target string, heard func(plan.Notification)) (plan.Session, error) {
	over, err := dial(target)
	if err != nil {
		return nil, err
	}
	c := client.NewClient(over, clientOptions()...)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		field := n.Params.AdditionalFields
		progress, _ := field["progress"].(float64)
		uri, _ := field["uri"].(string)
		heard(plan.Notification{Method: n.Method, URI: uri, Progress: progress, Data: field["data"]})
	})
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var r mcp.InitializeRequest
	r.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	r.Params.ClientInfo = mcp.Implementation{Name: "interop", Version: "1"}
	result, err := c.Initialize(ctx, r)
	if err != nil {
		return nil, err
	}
	return session{c, result.ProtocolVersion}, nil
}

func dial(target string) (transport.Interface, error) {
	if words, ok := plan.Command(target); ok {
		return transport.NewStdio(words[0], os.Environ(), words[1:]...), nil
	}
	if url, ok := strings.CutPrefix(target, "sse+"); ok {
		return transport.NewSSE(url)
	}
	return dialHTTP(target)
}

func (s session) Revision() string { return s.revision }

// ID is the id of the session over HTTP.
func (s session) ID() string {
	if over, ok := s.GetTransport().(interface{ GetSessionId() string }); ok {
		return over.GetSessionId()
	}
	return ""
}

func (s session) List(ctx context.Context, kind string) (names []string, err error) {
	switch kind {
	case "tools":
		r, err := s.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range r.Tools {
			names = append(names, t.Name)
		}
	case "resources":
		r, err := s.ListResources(ctx, mcp.ListResourcesRequest{})
		if err != nil {
			return nil, err
		}
		for _, resource := range r.Resources {
			names = append(names, resource.URI)
		}
	case "templates":
		r, err := s.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
		if err != nil {
			return nil, err
		}
		for _, t := range r.ResourceTemplates {
			names = append(names, t.URITemplate.Raw())
		}
	case "prompts":
		r, err := s.ListPrompts(ctx, mcp.ListPromptsRequest{})
		if err != nil {
			return nil, err
		}
		for _, p := range r.Prompts {
			names = append(names, p.Name)
		}
	}
	return names, nil
}

func (s session) Call(ctx context.Context, c plan.Call) (*plan.Result, error) {
	var p mcp.CallToolRequest
	p.Params.Name, p.Params.Arguments = c.Name, c.Arguments
	if c.Arguments == nil {
		p.Params.Arguments = map[string]any{}
	}
	switch {
	case c.Progress:
		p.Params.Meta = &mcp.Meta{ProgressToken: "progress"}
	case c.Log && s.revision >= "2026-07-28":
		p.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"io.modelcontextprotocol/logLevel": "debug"}}
	}
	r, err := s.CallTool(ctx, p)
	if err != nil {
		return nil, err
	}
	return &plan.Result{Text: text(r.Content...), Structured: structuredOf(r), IsError: r.IsError}, nil
}

func text(content ...mcp.Content) string {
	var texts []string
	for _, c := range content {
		if t, ok := mcp.AsTextContent(c); ok {
			texts = append(texts, t.Text)
		} else {
			texts = append(texts, fmt.Sprintf("%T", c))
		}
	}
	return strings.Join(texts, "|")
}

func (s session) Read(ctx context.Context, uri string) (string, error) {
	var p mcp.ReadResourceRequest
	p.Params.URI = uri
	r, err := s.ReadResource(ctx, p)
	if err != nil {
		return "", err
	}
	if t, ok := mcp.AsTextResourceContents(r.Contents[0]); ok {
		return t.Text, nil
	}
	return fmt.Sprintf("%T", r.Contents[0]), nil
}

func (s session) Get(ctx context.Context, prompt string, arguments map[string]string) (string, error) {
	var p mcp.GetPromptRequest
	p.Params.Name, p.Params.Arguments = prompt, arguments
	r, err := s.GetPrompt(ctx, p)
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
	var p mcp.CompleteRequest
	p.Params.Ref = mcp.PromptReference{Type: r.Type, Name: r.Name}
	if r.URI != "" {
		p.Params.Ref = mcp.ResourceReference{Type: r.Type, URI: r.URI}
	}
	p.Params.Argument.Name, p.Params.Argument.Value = a.Name, a.Value
	c, err := s.Client.Complete(ctx, p)
	if err != nil {
		return nil, err
	}
	return c.Completion.Values, nil
}

func (s session) Listen(ctx context.Context, uri string) error {
	if s.revision >= "2026-07-28" {
		return s.listenStateless(uri)
	}
	if uri == "" {
		return nil
	}
	var p mcp.SubscribeRequest
	p.Params.URI = uri
	return s.Subscribe(ctx, p)
}

func (s session) SetLevel(ctx context.Context) error {
	if s.revision >= "2026-07-28" {
		return nil // the level is part of each request
	}
	var p mcp.SetLevelRequest
	p.Params.Level = mcp.LoggingLevelDebug
	return s.Client.SetLevel(ctx, p)
}
