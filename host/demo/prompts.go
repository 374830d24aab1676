package demo

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type summary struct {
	Text  string `json:"text" doc:"the text to summarize"`
	Style string `json:"style,omitzero" doc:"one sentence, bullet points or paragraph"`
}

type review struct {
	Code     string `json:"code" doc:"the code to review"`
	Language string `json:"language,omitzero" doc:"the language that it is written in"`
}

func addPrompts(srv *mcpserver.Server) {
	srv.Prompt("summarize", "Summarize a text", summarize, mcpserver.Title("Summarize"), icon("📰"),
		mcpserver.CompleteArg("style", mcpserver.Prefix("one sentence", "bullet points", "paragraph")))
	srv.Prompt("review", "Review code", reviewCode, mcpserver.Title("Review code"), icon("🧐"),
		mcpserver.CompleteArg("language", mcpserver.Prefix(
			"C", "C#", "C++", "Clojure", "Dart", "Elixir", "Erlang", "Go", "Haskell", "Java", "JavaScript", "Julia",
			"Kotlin", "Lua", "OCaml", "PHP", "Perl", "Python", "R", "Ruby", "Rust", "SQL", "Scala", "Shell", "Swift",
			"TypeScript", "Zig")))
}

func summarize(_ context.Context, in summary) ([]mcp.PromptMessage, error) {
	return []mcp.PromptMessage{mcpserver.UserMessage(fmt.Sprintf(
		"Summarize the following text as %s. Add nothing that it does not say.\n\n%s",
		cmp.Or(in.Style, "one paragraph"), in.Text))}, nil
}

func reviewCode(_ context.Context, in review) ([]mcp.PromptMessage, error) {
	return []mcp.PromptMessage{mcpserver.UserMessage(fmt.Sprintf(
		"Review this %s code. Name defects first, each with the input that shows it, then what is hard to read.\n\n```\n%s\n```",
		cmp.Or(in.Language, "piece of"), in.Code))}, nil
}
