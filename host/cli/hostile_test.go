package cli_test

import (
	"context"
	"encoding/json/v2"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/hostiletext"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// evil is what a hostile server says wherever it can: all cases, in JSON.
var evil = strings.ToValidUTF8(strings.Join(hostiletext.Texts(), " "), "?")

func newEvilServer() *mcpserver.Server {
	srv := mcpserver.New(evil, "1", &mcpserver.Options{Logger: quiet})
	text := mcp.Contents{mcp.Text(evil), mcp.Link("x://y", evil), mcp.Image(nil, "image/png")}
	srv.AddTool(mcp.Tool{
		Name: "say", Title: evil, Description: evil,
		InputSchema: []byte(`{"type":"object","properties":{"\u001b[2Jname":{"type":"string","description":"\u001b[2J\u202e"}},"required":["\u001b[2Jname"]}`),
	}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: text}, nil
	})
	srv.AddTool(mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolParams) (mcp.Result, error) {
		time.Sleep(750 * time.Millisecond) // so that progress is shown
		mcpserver.Progress(ctx, 1, 2, evil)
		return &mcp.CallToolResult{Content: text}, nil
	})
	srv.AddTool(mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: text, IsError: true}, nil
	})
	srv.AddTool(mcp.Tool{Name: "structured"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		object, err := json.Marshal(map[string]string{evil: evil})
		return &mcp.CallToolResult{Content: text, StructuredContent: object}, err
	})
	srv.AddTool(mcp.Tool{Name: "ask"}, func(ctx context.Context, _ *mcp.CallToolParams) (mcp.Result, error) {
		_, err := mcpserver.Ask[struct {
			Answer string `json:"answer"`
		}](ctx, "k", evil)
		return nil, err
	})
	srv.AddTool(mcp.Tool{Name: "err"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s", evil)
	})
	srv.AddResource(mcp.Resource{URI: "x://y", Name: evil, Description: evil}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x://y", Text: evil}}}, nil
	})
	srv.AddPrompt(mcp.Prompt{Name: "p", Description: evil, Arguments: []mcp.PromptArgument{{Name: evil, Required: true, Description: evil}, {Name: "word"}}},
		func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{mcpserver.UserMessage(evil)}}, nil
		},
		mcpserver.CompleteArg("word", func(context.Context, mcpserver.CompletionRequest) ([]string, error) { return []string{evil}, nil }))
	return srv
}

func TestTextsOfPeersAreEscapedForTheTerminal(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-242b")
	s := serve(t, newEvilServer())
	s.terminal = true
	s.env = append(s.env, "NO_COLOR=1")
	commands := [][]string{
		{"tools"},
		{"tools", "say"},
		{"call", "say"},
		{"call", "say", "\x1b[2Jname=x"},
		{"call", "fail"},
		{"call", "err"},
		{"resources"},
		{"read", "x://y"},
		{"prompts"},
		{"prompt", "p"},
		{"prompt", "p", evil + "=x"},
		{"complete", "p", "word=x"},
		{"servers"},
		{"call", "ask"},
		{"call", "structured"},
		{"doctor", strings.TrimPrefix(s.env[0], "FONDACO_URL=")},
		{"check", strings.TrimPrefix(s.env[0], "FONDACO_URL=")},
	}
	for _, command := range commands {
		for _, args := range [][]string{command, append(command[:len(command):len(command)], "--json")} {
			t.Run(strings.Join(args, " ")[:min(20, len(strings.Join(args, " ")))], func(t *testing.T) {
				t.Parallel()
				stdout, stderr, _ := s.run(t.Context(), args...)
				for name, text := range map[string]string{"output": stdout, "error": stderr} {
					if i := hostiletext.Unshown(text, "\n\t"); i >= 0 {
						t.Errorf("got standard %s with %q, want printable characters only", name, text[i:min(len(text), i+40)])
					}
				}
				if stdout+stderr == "" {
					t.Error("got nothing, want an answer")
				}
			})
		}
	}
}

func TestProgressIsShownAndCleaned(t *testing.T) {
	t.Parallel()
	_, stderr, code := serve(t, newEvilServer()).run(t.Context(), "call", "slow")
	if want := " 50 %  "; code != 0 || !strings.HasPrefix(stderr, want) || strings.ContainsAny(stderr, "\x1b\a\r") {
		t.Errorf("got %q, %d, want %q and a text that is harmless", stderr, code, want)
	}
}

func TestTextIsWrittenToAPipeUnchanged(t *testing.T) {
	t.Parallel()
	s := serve(t, newEvilServer())
	if stdout, stderr, code := s.run(t.Context(), "read", "x://y"); stdout != evil+"\n" || code != 0 {
		t.Errorf("got %q, %q, %d, want the text unchanged", stdout, stderr, code)
	}
}
