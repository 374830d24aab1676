package main

import (
	"context"
	_ "embed"
	"encoding/json/jsontext"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addQuestions adds tools that ask during a call. They work in every revision: see
// docs/asking.md.
func addQuestions(srv *mcpserver.Server) {
	srv.Tool("test_sampling", "Lets the client's model answer", sample)
	srv.Tool("test_missing_capability", "Needs a client that has a model", needModel)
	srv.Tool("test_elicitation", "Asks the user who they are", elicit)
	srv.Tool("test_elicitation_sep1034_defaults", "Asks by a form with defaults", elicitDefaults)
	srv.Tool("test_streaming_elicitation", "Reports progress, then asks the user", elicitAfterProgress)
	srv.AddTool(mcp.Tool{
		Name:        "test_elicitation_sep1330_enums",
		Description: "Asks by a form with every kind of choice",
	}, elicitChoices)
}

// Prompting has the prompt for the model.
type Prompting struct {
	Prompt string `json:"prompt" doc:"what to ask the model"`
}

func sample(ctx context.Context, in Prompting) (string, error) {
	answer, err := askModel(ctx, "answer", in.Prompt)
	return "LLM response: " + answer, err
}

func needModel(ctx context.Context, _ none) (string, error) {
	return askModel(ctx, "answer", "Say anything.")
}

// askModel asks the client's model and returns the text of its answer.
func askModel(ctx context.Context, key, prompt string) (string, error) {
	var answer mcp.CreateMessageResult
	err := mcpserver.AskAll(ctx, mcpserver.SampleQuestion(key, modelParams(prompt), &answer))
	return answer.Content.Text(), err
}

func modelParams(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text(prompt)}}},
		MaxTokens: 100,
	}
}

// Asking has the message for the user.
type Asking struct {
	Message string `json:"message" doc:"what the user reads above the form"`
}

// Account is an elicitation form.
type Account struct {
	Username string `json:"username" doc:"the user's name"`
	Email    string `json:"email" doc:"the user's address"`
}

func elicit(ctx context.Context, in Asking) (string, error) {
	account, err := mcpserver.Ask[Account](ctx, "account", in.Message)
	return fmt.Sprintf("User response: %+v", account), err
}

// Profile is an elicitation form with defaults.
type Profile struct {
	Name     string  `json:"name" default:"John Doe"`
	Age      int     `json:"age" default:"30"`
	Score    float64 `json:"score" default:"95.5"`
	Status   string  `json:"status" enum:"active|inactive|pending" default:"active"`
	Verified bool    `json:"verified" default:"true"`
}

func elicitDefaults(ctx context.Context, _ none) (string, error) {
	profile, err := mcpserver.Ask[Profile](ctx, "profile", "Please check your profile.")
	return fmt.Sprintf("Elicitation completed: action=accept, content=%+v", profile), err
}

func elicitAfterProgress(ctx context.Context, _ none) (string, error) {
	mcpserver.Progress(ctx, 1, 2, "about to ask")
	account, err := mcpserver.Ask[Account](ctx, "account", "Who are you?")
	return fmt.Sprintf("Elicitation completed: action=accept, content=%+v", account), err
}

// choices asks for one choice and for several, in the plain, the titled and the
// legacy form, of which no Go type says the last.
//
//go:embed testdata/choices.json
var choices []byte

// elicitChoices asks without mcpserver.Ask: it returns the question until it has the
// answer.
func elicitChoices(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
	answer, ok := p.InputResponses["choices"]
	if !ok {
		question := mcp.InputRequest{Method: mcp.MethodElicit, Params: jsontext.Value(choices)}
		return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"choices": question}}, nil
	}
	return &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("Elicitation completed: %s", answer)}}, nil
}
