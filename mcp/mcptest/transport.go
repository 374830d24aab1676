package mcptest

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// TestTransport tests a transport. The target has to reach a server that NewServer has
// made. A client of the given revision uses all its features: lists, calls, reads,
// prompts, completion, progress, cancellation, changes, questions.
func TestTransport(t *testing.T, target mcpclient.Target, v mcp.Revision) {
	t.Helper()
	e := &exercise{changed: make(chan struct{}, 100), logged: make(chan string, 100)}
	e.Client = connect(t, target, e.options(v))
	if got := e.Revision(); got != v {
		t.Fatalf("the revision is %s, want %s", got, v)
	}
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"lists", e.lists},
		{"tools", e.tools},
		{"content", e.content},
		{"resources", e.resources},
		{"prompts", e.prompts},
		{"completion", e.completion},
		{"progress", e.progress},
		{"cancellation", e.cancellation},
		{"logging", e.logging},
		{"ping", e.ping},
		{"changes", e.changes},
		{"updates", e.updates},
		{"questions", e.questions},
	} {
		t.Run(part.name, part.run)
	}
}

// exercise is the client of a TestTransport.
type exercise struct {
	*mcpclient.Client
	changed chan struct{}
	logged  chan string
}

func (e *exercise) options(v mcp.Revision) *mcpclient.Options {
	return &mcpclient.Options{
		Revisions:      []mcp.Revision{v},
		LogLevel:       mcp.LevelInfo,
		OnToolsChanged: func(context.Context, *mcpclient.Client) { e.changed <- struct{}{} },
		OnLog: func(_ context.Context, p *mcp.LoggingMessageParams) {
			var data struct {
				Message string `json:"msg"`
			}
			_ = json.Unmarshal(p.Data, &data)
			e.logged <- data.Message
		},
		Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///home/ada"}}, nil
		},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
		},
	}
}

func (e *exercise) lists(t *testing.T) {
	var tools, resources, templates, prompts []string
	for v, err := range e.Tools(t.Context()) {
		must(t, err)
		tools = append(tools, v.Name)
	}
	for v, err := range e.Resources(t.Context()) {
		must(t, err)
		resources = append(resources, v.URI)
	}
	for v, err := range e.Templates(t.Context()) {
		must(t, err)
		templates = append(templates, v.URITemplate)
	}
	for v, err := range e.Prompts(t.Context()) {
		must(t, err)
		prompts = append(prompts, v.Name)
	}
	for _, list := range []struct {
		got  []string
		want string
	}{{tools, "add"}, {resources, "note://hello"}, {templates, "note://by/{name}"}, {prompts, "greet"}} {
		if !slices.Contains(list.got, list.want) || !slices.IsSorted(list.got) {
			t.Errorf("got %q, want %q among them, and sorted", list.got, list.want)
		}
	}
}

func (e *exercise) tools(t *testing.T) {
	sum, err := e.CallTool(t.Context(), "add", addends{1, 2})
	must(t, err)
	if got := sum.Content.Text(); got != `{"sum":3}` {
		t.Errorf("add: got %s", got)
	}
	echo, err := e.Call[string](t.Context(), "echo", map[string]string{"text": "caffè"})
	if err != nil || echo != "caffè" {
		t.Errorf("echo: got %q, %v", echo, err)
	}
	for _, failing := range []struct {
		tool string
		args any
		want string
	}{
		{"fail", nil, "it did not work"},
		{"add", map[string]any{"a": 1}, `missing "b"`},
	} {
		r, err := e.CallTool(t.Context(), failing.tool, failing.args)
		if err != nil || !r.IsError || !strings.Contains(r.Content.Text(), failing.want) {
			t.Errorf("%s: got %+v, %v, want an error that says %q", failing.tool, r, err, failing.want)
		}
	}
	for tool, want := range map[string]mcp.Code{"nosuch": mcp.CodeInvalidParams, "panics": mcp.CodeInternal} {
		if _, err := e.CallTool(t.Context(), tool, nil); mcp.CodeOf(err) != want {
			t.Errorf("%s: got %v, want %s", tool, err, want)
		}
	}
}

func (e *exercise) content(t *testing.T) {
	r, err := e.CallTool(t.Context(), "media", nil)
	must(t, err)
	if len(r.Content) != 5 {
		t.Fatalf("got %d blocks, want 5: %+v", len(r.Content), r.Content)
	}
	if got := r.Content.Text(); !strings.Contains(got, "words") {
		t.Errorf("got text %q", got)
	}
}

func (e *exercise) resources(t *testing.T) {
	for uri, want := range map[string]string{"note://hello": "hello", "note://by/Ada%20L": "a note by Ada L"} {
		r, err := e.ReadResource(t.Context(), uri)
		must(t, err)
		if got := r.Contents[0].Text; got != want {
			t.Errorf("%s: got %q, want %q", uri, got, want)
		}
	}
	for _, uri := range []string{"note://nosuch", "note://by/nobody"} {
		_, err := e.ReadResource(t.Context(), uri)
		if mcp.CodeOf(err) != mcp.CodeResourceNotFound {
			t.Errorf("%s: got %v, want not found", uri, err)
		}
	}
}

func (e *exercise) prompts(t *testing.T) {
	r, err := e.GetPrompt(t.Context(), "greet", map[string]string{"name": "Bo"})
	must(t, err)
	if got, _ := r.Messages[0].Content.(mcp.TextContent); got.Text != "Greet Bo" {
		t.Errorf("got %q, want \"Greet Bo\"", got.Text)
	}
	if _, err := e.GetPrompt(t.Context(), "greet", nil); mcp.CodeOf(err) != mcp.CodeInvalidParams {
		t.Errorf("without its argument: got %v, want invalid params", err)
	}
}

func (e *exercise) completion(t *testing.T) {
	for _, ref := range []mcp.Reference{mcp.PromptRef("greet"), mcp.ResourceRef("note://by/{name}")} {
		c, err := e.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: "name", Value: "a"}})
		must(t, err)
		if want := []string{"Ada", "Alan"}; !slices.Equal(c.Values, want) {
			t.Errorf("%v: got %q, want %q", ref, c.Values, want)
		}
	}
}

func (e *exercise) progress(t *testing.T) {
	var seen []float64
	r, err := e.CallTool(t.Context(), "steps", count{3}, mcpclient.WithProgress(func(p mcp.ProgressParams) {
		seen = append(seen, p.Progress)
	}))
	must(t, err)
	if want := []float64{1, 2, 3}; !slices.Equal(seen, want) || r.Content.Text() != "done" {
		t.Errorf("got %v and then %q, want %v and then done", seen, r.Content.Text(), want)
	}
}

// cancellation cancels a call after its first progress notification, when it runs.
func (e *exercise) cancellation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	running := mcpclient.WithProgress(func(mcp.ProgressParams) { cancel(enough) })
	if _, err := e.CallTool(ctx, "wait", nil, running); !errors.Is(err, enough) {
		t.Errorf("got %v, want %v", err, enough)
	}
	if _, err := e.CallTool(t.Context(), "add", addends{1, 2}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func (e *exercise) logging(t *testing.T) {
	_, err := e.CallTool(t.Context(), "log", text{"a word"})
	must(t, err)
	if got := await(t, e.logged); got != "a word" {
		t.Errorf("got %q", got)
	}
}

func (e *exercise) ping(t *testing.T) { must(t, e.Ping(t.Context())) }

func (e *exercise) changes(t *testing.T) {
	name := "grown_" + strings.ReplaceAll(e.Revision().String(), "-", "_")
	_, err := e.CallTool(t.Context(), "grow", named{name})
	must(t, err)
	await(t, e.changed)
	got, err := e.Call[string](t.Context(), name, nil)
	if want := "I am " + name; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// updates watches a resource: its URI is yielded once at the start, and again after a
// change.
func (e *exercise) updates(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), playTimeout)
	defer cancel()
	updates := 0
	for uri, err := range e.Watch(ctx, "note://counter") {
		must(t, err)
		if uri != "note://counter" {
			t.Errorf("got an update of %q, want note://counter", uri)
		}
		if updates++; updates == 2 {
			return
		}
		_, err := e.CallTool(t.Context(), "touch", nil)
		must(t, err)
	}
	t.Errorf("got %d updates, want 2", updates)
}

// questions calls tools that ask. In a revision without such questions the call has to
// fail instead of continuing without an answer.
func (e *exercise) questions(t *testing.T) {
	for _, question := range []struct {
		tool   string
		exists bool
		want   string
	}{
		{"roots", true, "file:///home/ada"},
		{"ask", e.Revision().HasElicitation(), "Hello, Ada"},
	} {
		got, err := e.Call[string](t.Context(), question.tool, nil)
		switch {
		case question.exists && (err != nil || got != question.want):
			t.Errorf("%s: got %q, %v, want %q", question.tool, got, err, question.want)
		case !question.exists && err == nil:
			t.Errorf("%s: got %q, want an error: %s has no such question", question.tool, got, e.Revision())
		}
	}
}

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(playTimeout):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
