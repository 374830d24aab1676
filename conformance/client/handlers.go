package main

import (
	"context"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
)

// fillIn accepts every form with its defaults, and confirms what it asks to confirm.
func fillIn(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	var form mcp.ElicitSchema
	if err := json.Unmarshal(p.RequestedSchema, &form); err != nil {
		return nil, err
	}
	answers := make(map[string]any)
	for _, field := range form.Fields {
		if yes, ok := field.Schema.(mcp.BooleanSchema); ok && yes.Default == nil {
			answers[field.Name] = true
		}
	}
	content, err := json.Marshal(answers, json.Deterministic(true))
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, err
}

// sample is a model that always gives the same answer.
func sample(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{
		Role: mcp.RoleAssistant, Model: "conformance", StopReason: mcp.StopEndTurn,
		Content: mcp.Contents{mcp.Text("It depends.")},
	}, nil
}

// roots returns one root.
func roots(context.Context) ([]mcp.Root, error) {
	return []mcp.Root{{URI: "file:///home/user/project", Name: "project"}}, nil
}
