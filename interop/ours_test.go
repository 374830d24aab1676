package interop_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// visit connects our client in one revision, runs the steps of a plan and checks the
// results.
func visit(t *testing.T, target mcpclient.Target, v mcp.Revision, p plan, l lacks) {
	t.Helper()
	g := connectRunner(t, target, v)
	results := g.run(t, p, l)
	if err := g.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	p.check(t, l, results)
}

// connectRunner connects our client in one revision.
func connectRunner(t *testing.T, target mcpclient.Target, v mcp.Revision) *stepRunner {
	t.Helper()
	g := &stepRunner{changes: make(map[string]chan struct{}), logs: make(chan *mcp.LoggingMessageParams, 100)}
	c, err := mcpclient.Connect(t.Context(), target, g.options(v))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Revision(); got != v {
		t.Errorf("spoke %s, want %s", got, v)
	}
	g.Client = c
	return g
}

// run runs the steps of a plan and returns their results.
func (g *stepRunner) run(t *testing.T, p plan, l lacks) (results []any) {
	t.Helper()
	for _, s := range p.without(l) {
		got, err := g.take(t.Context(), s)
		if err != nil {
			got = map[string]any{"error": err.Error()}
		}
		results = append(results, plain(t, got))
	}
	return results
}

// stepRunner runs steps with our client.
type stepRunner struct {
	*mcpclient.Client
	changes map[string]chan struct{} // change notifications, by kind of list
	logs    chan *mcp.LoggingMessageParams
}

func (g *stepRunner) options(v mcp.Revision) *mcpclient.Options {
	return &mcpclient.Options{
		Revisions:          []mcp.Revision{v},
		LogLevel:           mcp.LevelDebug,
		OnToolsChanged:     g.onChange("tools"),
		OnResourcesChanged: g.onChange("resources"),
		OnLog: func(_ context.Context, p *mcp.LoggingMessageParams) {
			select {
			case g.logs <- p:
			default:
			}
		},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
		},
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "none", Content: mcp.Contents{mcp.Text("an ode")}}, nil
		},
		Logger: slog.New(slog.DiscardHandler),
	}
}

func (g *stepRunner) onChange(kind string) func(context.Context, *mcpclient.Client) {
	changes := make(chan struct{}, 100)
	g.changes[kind] = changes
	return func(context.Context, *mcpclient.Client) {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
}

// take runs one step.
func (g *stepRunner) take(ctx context.Context, s step) (any, error) {
	features := map[string]func(context.Context, step) (any, error){
		"list": g.list, "call": g.call, "structured": g.structured, "read": g.read, "get": g.get, "complete": g.complete,
		"progress": g.progress, "cancel": g.cancel, "changed": g.changed, "updated": g.updated, "logged": g.logged, "asked": g.asked,
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	return features[s.Do](ctx, s)
}

// list returns the names of the step that no list contains.
func (g *stepRunner) list(ctx context.Context, s step) (any, error) {
	var listed []string
	for _, kind := range []string{"tools", "resources", "templates", "prompts"} {
		names, err := g.listed(ctx, kind)
		if err != nil {
			return nil, err
		}
		listed = append(listed, names...)
	}
	return slices.DeleteFunc(slices.Clone(s.Names), func(name string) bool { return slices.Contains(listed, name) }), nil
}

func (g *stepRunner) listed(ctx context.Context, kind string) ([]string, error) {
	switch kind {
	case "tools":
		return each(g.Tools(ctx), func(t mcp.Tool) string { return t.Name })
	case "resources":
		return each(g.Resources(ctx), func(r mcp.Resource) string { return r.URI })
	case "templates":
		return each(g.Templates(ctx), func(t mcp.ResourceTemplate) string { return t.URITemplate })
	case "prompts":
		return each(g.Prompts(ctx), func(p mcp.Prompt) string { return p.Name })
	}
	return nil, fmt.Errorf("no list of %s", kind)
}

func each[T any](items iter.Seq2[T, error], name func(T) string) ([]string, error) {
	var names []string
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		names = append(names, name(item))
	}
	return names, nil
}

func (g *stepRunner) call(ctx context.Context, s step) (any, error) {
	r, err := g.CallTool(ctx, s.Name, s.Arguments)
	if err != nil {
		return nil, err
	}
	return answer{r.Content.Text(), r.IsError}, nil
}

// structured returns the structured content.
func (g *stepRunner) structured(ctx context.Context, s step) (any, error) {
	r, err := g.CallTool(ctx, s.Name, s.Arguments)
	if err == nil && r.StructuredContent == nil {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, err
	}
	return r.StructuredContent, nil
}

// read returns the text of the first part, or its bytes in base64.
func (g *stepRunner) read(ctx context.Context, s step) (any, error) {
	r, err := g.ReadResource(ctx, s.URI)
	if err != nil {
		return nil, err
	}
	if first := r.Contents[0]; first.Blob == nil {
		return first.Text, nil
	}
	return r.Contents[0].Blob, nil
}

func (g *stepRunner) get(ctx context.Context, s step) (any, error) {
	arguments := make(map[string]string)
	for name, value := range s.Arguments {
		arguments[name] = value.(string)
	}
	r, err := g.GetPrompt(ctx, s.Name, arguments)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, m := range r.Messages {
		if text, ok := m.Content.(mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "|"), nil
}

func (g *stepRunner) complete(ctx context.Context, s step) (any, error) {
	c, err := g.Complete(ctx, &mcp.CompleteParams{Ref: *s.Ref, Argument: *s.Argument})
	if err != nil {
		return nil, err
	}
	return c.Values, nil
}

func (g *stepRunner) progress(ctx context.Context, s step) (any, error) {
	a := advance{Seen: []float64{}}
	r, err := g.CallTool(ctx, s.Name, s.Arguments, mcpclient.WithProgress(func(p mcp.ProgressParams) {
		a.Seen = append(a.Seen, p.Progress)
	}))
	if err != nil {
		return nil, err
	}
	a.Text = r.Content.Text()
	return a, nil
}

// cancel cancels a running call.
func (g *stepRunner) cancel(ctx context.Context, s step) (any, error) {
	ctx, stop := context.WithCancelCause(ctx)
	enough := errors.New("enough")
	defer time.AfterFunc(200*time.Millisecond, func() { stop(enough) }).Stop()
	_, err := g.CallTool(ctx, s.Name, s.Arguments)
	switch {
	case err == nil:
		return "answered", nil
	case errors.Is(err, enough):
		return "cancelled", nil
	}
	return nil, err
}

// changed waits for a change notification after which the list contains the new name.
func (g *stepRunner) changed(ctx context.Context, s step) (any, error) {
	changes := g.changes[s.Kind]
	drain(changes)
	if _, err := g.CallTool(ctx, s.Name, s.Arguments); err != nil {
		return nil, err
	}
	for {
		if _, err := receive(s, changes); err != nil {
			return nil, err
		}
		names, err := g.listed(ctx, s.Kind)
		if err != nil || slices.Contains(names, s.Names[0]) {
			return "changed", err
		}
	}
}

// updated watches a resource. Watch yields the URI once at the beginning and again after
// each update.
func (g *stepRunner) updated(ctx context.Context, s step) (any, error) {
	ctx, stop := context.WithTimeout(ctx, receiveTimeout(s))
	defer stop()
	watched := false
	for uri, err := range g.Watch(ctx, s.URI) {
		switch {
		case err != nil:
			return nil, err
		case uri != s.URI:
			return nil, fmt.Errorf("notified of %q", uri)
		case watched:
			return "updated", nil
		}
		watched = true
		if _, err := g.CallTool(ctx, s.Name, s.Arguments); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("no notification within the timeout")
}

// logged returns the text of the message that a tool logs.
func (g *stepRunner) logged(ctx context.Context, s step) (any, error) {
	drain(g.logs)
	if _, err := g.CallTool(ctx, s.Name, s.Arguments); err != nil {
		return nil, err
	}
	p, err := receive(s, g.logs)
	if err != nil {
		return nil, err
	}
	var record struct {
		Message string `json:"msg"`
	}
	if json.Unmarshal(p.Data, &record) == nil {
		return record.Message, nil
	}
	return p.Data, nil
}

// asked returns the text of a tool that asks for the name of the user.
func (g *stepRunner) asked(ctx context.Context, s step) (any, error) {
	return g.Call[string](ctx, s.Name, s.Arguments)
}

func drain[T any](c <-chan T) {
	for len(c) > 0 {
		<-c
	}
}

// receive waits for a value. The timeout is short when the feature is lacking.
func receive[T any](s step, c <-chan T) (T, error) {
	select {
	case v := <-c:
		return v, nil
	case <-time.After(receiveTimeout(s)):
		return *new(T), errors.New("no notification within the timeout")
	}
}

func receiveTimeout(s step) time.Duration {
	if s.Lacking {
		return 250 * time.Millisecond
	}
	return 2 * time.Minute
}
