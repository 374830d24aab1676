package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestOptionThatMakesNoSensePanics(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		make func()
		want string
	}{
		{"visible to nobody's function", func() { mcpserver.Visible(nil) }, "Visible: the function is nil"},
		{"no time", func() { mcpserver.Timeout(0) }, "Timeout: 0s: want more than 0"},
		{"less than no time", func() { mcpserver.Timeout(-time.Second) }, "Timeout: -1s"},
		{"no turns", func() { mcpserver.Limit(0) }, "Limit: 0: want at least 1"},
		{"nil middleware", func() { newServer(nil).Use(nil) }, "Use: a middleware is nil"},
		{"negative limit", func() { newServer(&mcpserver.Options{PageSize: -1}) }, "PageSize: -1: want a positive number"},
		{"negative size", func() { newServer(&mcpserver.Options{MaxBody: -1}) }, "MaxBody: -1: want a positive number"},
		{"no revision", func() { newServer(&mcpserver.Options{Revisions: []mcp.Revision{{}}}) }, "the zero Revision is an entry of Revisions"},
		{"metadata under a bad key", func() { mcpserver.Meta("a b", 1) }, "mcpserver.Meta: "},
		{"metadata without JSON", func() { mcpserver.Meta("com.example/k", func() {}) }, "mcpserver.Meta: "},
	} {
		if text := panicText(t, test.make); !strings.Contains(text, test.want) {
			t.Errorf("%s: got %q, want %q in it", test.name, text, test.want)
		}
	}
}

func TestInvalidIconsAreRefused(t *testing.T) {
	t.Parallel()
	bad := mcp.Icon{Src: "http://example.com/i.png"}
	icons := []mcp.Icon{bad}
	for name, register := range map[string]func(){
		"of a feature":  func() { newServer(nil).Tool("a", "", nothing, mcpserver.Icons(bad)) },
		"of the server": func() { newServer(&mcpserver.Options{Icons: icons}) },
		"of a tool":     func() { newServer(nil).AddTool(mcp.Tool{Name: "a", Icons: icons}, rawNothing) },
		"of a prompt":   func() { newServer(nil).AddPrompt(mcp.Prompt{Name: "a", Icons: icons}, noMessages) },
		"of a resource": func() { newServer(nil).AddResource(mcp.Resource{URI: "a://b", Name: "a", Icons: icons}, noContents) },
		"of a template": func() {
			newServer(nil).AddTemplate(mcp.ResourceTemplate{URITemplate: "a://{b}", Name: "a", Icons: icons}, noContents)
		},
	} {
		if text := panicText(t, register); !strings.Contains(text, `icon: URL with scheme "http", want https or data`) {
			t.Errorf("%s: got %q", name, text)
		}
	}
}

func noMessages(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
	return &mcp.GetPromptResult{}, nil
}

func noContents(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
	return &mcp.ReadResourceResult{}, nil
}

func TestRegistrationRefusesOptionsThatAreNilOrPanic(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(*mcpserver.Server) error
		want string
	}{
		"tool": {func(s *mcpserver.Server) error { return s.ReplaceTool("a", "", nothing, nil) }, "option 1 is nil"},
		"resource": {func(s *mcpserver.Server) error {
			return s.SetResource(mcp.Resource{URI: "a://b", Name: "a"}, noContents, mcpserver.Title("b"), nil)
		}, "option 2 is nil"},
		"prompt": {func(s *mcpserver.Server) error { return s.SetPrompt(mcp.Prompt{Name: "a"}, noMessages, nil) }, "option 1 is nil"},
		"Define panics": {func(s *mcpserver.Server) error {
			return s.ReplaceTool("a", "", nothing, mcpserver.Define(func(*mcp.Tool) { panic("lost") }))
		}, "option 1: panic: lost"},
		"Wrap returns nil": {func(s *mcpserver.Server) error {
			return s.ReplaceTool("a", "", nothing, mcpserver.Wrap(func(mcpserver.ToolHandler) mcpserver.ToolHandler { return nil }))
		}, "option Wrap: the function returned nil"},
		"Wrap panics": {func(s *mcpserver.Server) error {
			return s.ReplaceTool("a", "", nothing, mcpserver.Wrap(func(mcpserver.ToolHandler) mcpserver.ToolHandler { panic("lost") }))
		}, "option Wrap: panic: lost"},
	} {
		if err := test.set(newServer(nil)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, test.want)
		}
	}
	for name, make := range map[string]func(){
		"Define":       func() { mcpserver.Define(nil) },
		"CompleteArg":  func() { mcpserver.CompleteArg("a", nil) },
		"CompleteWith": func() { mcpserver.CompleteWith(nil) },
		"Wrap":         func() { mcpserver.Wrap(nil) },
		"ToolOptions":  func() { mcpserver.ToolOptions(nil) },
		"Tool":         func() { newServer(nil).Tool("a", "", nothing, nil) },
	} {
		if text := panicText(t, make); !strings.Contains(text, "is nil") {
			t.Errorf("%s: got %q, want that it is nil", name, text)
		}
	}
}

func TestSecondDetachFailsAndTheOldContextCannotAsk(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	srv.Tool("detach", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, done, err := mcpserver.Detach(ctx, mcpserver.Background{})
		if err != nil {
			return "", err
		}
		defer done()
		if _, _, err := mcpserver.Detach(ctx, mcpserver.Background{}); !errors.Is(err, mcpserver.ErrCallEnded) {
			t.Errorf("second Detach: got %v, want %v", err, mcpserver.ErrCallEnded)
		}
		if _, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?"); !errors.Is(err, mcpserver.ErrCallEnded) {
			t.Errorf("Ask: got %v, want %v", err, mcpserver.ErrCallEnded)
		}
		return "done", nil
	})
	w := dialAs(t, srv, mcp.V20260728, canAll)
	if r := w.Must("tools/call", `{"name":"detach"}`); at(t, r, "/content/0/text") != `"done"` {
		t.Errorf("got %s, want it done", r)
	}
}

func TestParkWithoutACloseFunctionKeepsItsValue(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	srv.Tool("park", "", func(ctx context.Context, _ struct{}) (string, error) {
		return mcpserver.Park(ctx, "value", func(context.Context) (string, error) { return "kept", nil }, nil)
	})
	w := dialAs(t, srv, mcp.V20260728, canAll)
	if r := w.Must("tools/call", `{"name":"park"}`); at(t, r, "/content/0/text") != `"kept"` {
		t.Errorf("got %s, want the value", r)
	}
	w.Quiet()
}

func TestCheckToolRefusesRegistrations(t *testing.T) {
	t.Parallel()
	var checked []mcp.Tool
	s := newServer(&mcpserver.Options{CheckTool: func(tool mcp.Tool) error {
		checked = append(checked, tool)
		switch tool.Description {
		case "bad":
			return errors.New("described badly")
		case "worse":
			panic("lost")
		}
		return nil
	}})
	s.Tool("a", "good", nothing, mcpserver.ReadOnly(), mcpserver.Title("A"))
	if len(checked) != 1 || checked[0].Title != "A" || checked[0].Annotations == nil || len(checked[0].InputSchema) == 0 {
		t.Errorf("got %+v, want the definition as it is registered", checked)
	}
	checked[0].InputSchema[0] = '['
	for name, register := range map[string]func(){
		"Tool":    func() { s.Tool("b", "bad", nothing) },
		"AddTool": func() { s.AddTool(mcp.Tool{Name: "b", Description: "bad"}, rawNothing) },
	} {
		if text := panicText(t, register); !strings.Contains(text, `tool "b": option CheckTool: described badly`) {
			t.Errorf("%s: got %q", name, text)
		}
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"ReplaceTool":        {s.ReplaceTool("a", "bad", nothing), "described badly"},
		"SetTool":            {s.SetTool(mcp.Tool{Name: "a", Description: "bad"}, rawNothing), "described badly"},
		"FeatureSet.AddTool": {s.NewFeatureSet().AddTool(mcp.Tool{Name: "c", Description: "bad"}, rawNothing), "described badly"},
		"CheckTool panicked": {s.ReplaceTool("a", "worse", nothing), "panic: lost"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, test.err, test.want)
		}
	}
	for tool, err := range connectTo(t, s).Tools(t.Context()) {
		if err != nil || tool.Name != "a" || tool.Description != "good" || tool.InputSchema.Kind() != '{' {
			t.Errorf("got %+v, %v, want the first tool alone", tool, err)
		}
	}
}
