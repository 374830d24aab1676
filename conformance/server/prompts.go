package main

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func addPrompts(srv *mcpserver.Server) {
	srv.Prompt("test_simple_prompt", "A prompt without arguments", simplePrompt)
	srv.Prompt("test_prompt_with_arguments", "A prompt with two arguments", promptWithArguments,
		mcpserver.CompleteArg("arg1", mcpserver.Prefix("paris", "park", "party")))
	srv.Prompt("test_prompt_with_embedded_resource", "A prompt that holds a resource", promptWithResource)
	srv.Prompt("test_prompt_with_image", "A prompt that holds a picture", promptWithImage)
	srv.Prompt("test_input_required_result_prompt", "A prompt that asks the user first", promptThatAsks)
}

func simplePrompt(context.Context, none) ([]mcp.PromptMessage, error) {
	return []mcp.PromptMessage{mcpserver.UserMessage("This is a simple prompt for testing.")}, nil
}

// Two are the arguments of a prompt.
type Two struct {
	Arg1 string `json:"arg1" doc:"first argument"`
	Arg2 string `json:"arg2" doc:"second argument"`
}

func promptWithArguments(_ context.Context, in Two) ([]mcp.PromptMessage, error) {
	text := fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", in.Arg1, in.Arg2)
	return []mcp.PromptMessage{mcpserver.UserMessage(text)}, nil
}

// About names a resource.
type About struct {
	ResourceURI string `json:"resourceUri" doc:"URI of the resource to embed"`
}

func promptWithResource(_ context.Context, in About) ([]mcp.PromptMessage, error) {
	return []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: embedded(in.ResourceURI, "Embedded resource content for testing.")},
		mcpserver.UserMessage("Please process the embedded resource above."),
	}, nil
}

func promptWithImage(context.Context, none) ([]mcp.PromptMessage, error) {
	return []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.Image(pixel, "image/png")},
		mcpserver.UserMessage("Please analyze the image above."),
	}, nil
}

// Setting is an elicitation form.
type Setting struct {
	Context string `json:"context"`
}

func promptThatAsks(ctx context.Context, _ none) ([]mcp.PromptMessage, error) {
	setting, err := mcpserver.Ask[Setting](ctx, "user_context", "What context should the prompt use?")
	if err != nil {
		return nil, err
	}
	return []mcp.PromptMessage{mcpserver.UserMessage("Use this context: " + setting.Context)}, nil
}
