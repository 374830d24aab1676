package main

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addChanges adds tools that show or hide one tool or prompt, which sends list_changed
// notifications.
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

// toggle switches a feature on or off.
func toggle(enable func(name string, on bool) bool, name string) {
	if !enable(name, true) {
		enable(name, false)
	}
}
