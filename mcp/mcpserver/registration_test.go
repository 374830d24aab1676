package mcpserver_test

import (
	"context"
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

func TestIconsThatAreNoneAreRefused(t *testing.T) {
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
