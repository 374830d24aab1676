package main

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addChanges adds tools that change what the server offers: each call shows or
// hides one tool or prompt, and everybody who watches the list hears of it.
func addChanges(srv *mcpserver.Server) {
	srv.Tool("test_trigger_tool_change", "Shows or hides a tool", func(context.Context, none) (string, error) {
		toggle(srv.EnableTool, "test_changing_tool")
		return "The list of tools has changed.", nil
	})
	srv.Tool("test_trigger_prompt_change", "Shows or hides a prompt", func(context.Context, none) (string, error) {
		toggle(srv.EnablePrompt, "test_changing_prompt")
		return "The list of prompts has changed.", nil
	})
	srv.Tool("test_changing_tool", "Comes and goes", simpleText)
	srv.Prompt("test_changing_prompt", "Comes and goes", func(context.Context, none) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage("I come and go.")}, nil
	})
}

// toggle switches on what is off, and off what is on.
func toggle(enable func(name string, on bool) bool, name string) {
	if !enable(name, true) {
		enable(name, false)
	}
}
