package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addInputRequired adds tools that return input_required until the client has answered.
// Their state is in requestState.
func addInputRequired(srv *mcpserver.Server) {
	srv.AddTool(mcp.Tool{
		Name: "test_input_required_result_elicitation", Description: "Asks the user for a name",
		InputSchema: jsontext.Value(`{"type":"object"}`),
	}, askNameUnprotected)
	srv.Tool("test_input_required_result_sampling", "Asks the model for a capital", askCapital)
	srv.Tool("test_input_required_result_list_roots", "Asks for the roots", askRoots)
	srv.Tool("test_input_required_result_request_state", "Asks the user to confirm", askConfirmation)
	srv.Tool("test_input_required_result_tampered_state", "Asks the user to confirm", askConfirmation)
	srv.Tool("test_input_required_result_multiple_inputs", "Asks the user, the model and for the roots at once", askThree)
	srv.Tool("test_input_required_result_multi_round", "Asks the user twice", askTwice)
	srv.Tool("test_input_required_result_capabilities", "Asks for what the client can do", askWhatItCan)
}

// Named is an elicitation form.
type Named struct {
	Name string `json:"name"`
}

// askNameUnprotected makes its question itself and reads the answers as they came. One
// scenario of the suite answers without a requestState, which only such a handler can
// take: nothing shows that this server has asked. Handlers that do something with the
// user's consent use mcpserver.Ask, which takes answers to open questions alone.
func askNameUnprotected(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
	var answer struct {
		Action  mcp.ElicitAction `json:"action"`
		Content struct {
			Name *string `json:"name"`
		} `json:"content"`
	}
	raw := p.InputResponses["user_name"]
	if json.Unmarshal(raw, &answer) == nil && answer.Action == mcp.ElicitAccept && answer.Content.Name != nil {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("Hello, %s!", *answer.Content.Name)}}, nil
	}
	return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"user_name": {
		Method: mcp.MethodElicit,
		Params: jsontext.Value(`{"mode":"form","message":"What is your name?","requestedSchema":{
			"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`),
	}}}, nil
}

func askCapital(ctx context.Context, _ none) (string, error) {
	return askModel(ctx, "capital_question", "What is the capital of France?")
}

func askRoots(ctx context.Context, _ none) (string, error) {
	var roots []mcp.Root
	err := mcpserver.AskAll(ctx, mcpserver.ListRoots("client_roots", &roots))
	return fmt.Sprintf("%d roots", len(roots)), err
}

// Confirmation is an elicitation form.
type Confirmation struct {
	OK bool `json:"ok"`
}

func askConfirmation(ctx context.Context, _ none) (string, error) {
	confirmation, err := mcpserver.Ask[Confirmation](ctx, "confirm", "Please confirm")
	return fmt.Sprintf("state-ok, confirmed: %t", confirmation.OK), err
}

func askThree(ctx context.Context, _ none) (string, error) {
	var user Named
	var greeting mcp.CreateMessageResult
	var roots []mcp.Root
	err := mcpserver.AskAll(
		ctx,
		mcpserver.ElicitForm("user_name", "What is your name?", &user),
		mcpserver.SampleQuestion("greeting", modelParams("Generate a greeting"), &greeting),
		mcpserver.ListRoots("client_roots", &roots),
	)
	return fmt.Sprintf("%s, %s! You share %d roots.", greeting.Content.Text(), user.Name, len(roots)), err
}

// Coloured is an elicitation form.
type Coloured struct {
	Color string `json:"color"`
}

func askTwice(ctx context.Context, _ none) (string, error) {
	user, err := mcpserver.Ask[Named](ctx, "step1", "Step 1: What is your name?")
	if err != nil {
		return "", err
	}
	favourite, err := mcpserver.Ask[Coloured](ctx, "step2", "Step 2: What is your favorite color?")
	return fmt.Sprintf("%s likes %s.", user.Name, favourite.Color), err
}

func askWhatItCan(ctx context.Context, _ none) (string, error) {
	can := mcpserver.From(ctx).Capabilities()
	var user Named
	var greeting mcp.CreateMessageResult
	var questions []mcpserver.Question
	if can.Elicitation.CanForm() {
		questions = append(questions, mcpserver.ElicitForm("user_name", "What is your name?", &user))
	}
	if can.Sampling != nil {
		questions = append(questions, mcpserver.SampleQuestion("greeting", modelParams("Generate a greeting"), &greeting))
	}
	err := mcpserver.AskAll(ctx, questions...)
	return fmt.Sprintf("%d questions were answered.", len(questions)), err
}
