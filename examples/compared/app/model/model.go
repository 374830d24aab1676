// Package model calls a model by an API in the form of a list of messages with blocks.
package model

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Tool is a tool that the model may use.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema any    `json:"input_schema"`
}

// Message is what a role says.
type Message struct {
	Role    string  `json:"role"`
	Content []Block `json:"content"`
}

// Block is a text, the use of a tool, or the result of a tool.
type Block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
	ToolUseID string         `json:"tool_use_id,omitzero"`
	Content   string         `json:"content,omitzero"`
	IsError   bool           `json:"is_error,omitzero"`
}

// Result returns the block with the result of the tool that a block uses.
func (b Block) Result(content string, isError bool) Block {
	return Block{Type: "tool_result", ToolUseID: b.ID, Content: content, IsError: isError}
}

// Text returns a message of the user.
func Text(s string) Message { return Message{Role: "user", Content: []Block{{Type: "text", Text: s}}} }

// Ask returns the next message of the model, and the tools that it uses.
func Ask(ctx context.Context, tools []Tool, messages []Message) (next Message, uses []Block, err error) {
	response, err := Post(ctx, tools, messages)
	if err != nil {
		return next, nil, err
	}
	if err := json.Unmarshal(response, &next); err != nil {
		return next, nil, err
	}
	for _, b := range next.Content {
		if b.Type == "tool_use" {
			uses = append(uses, b)
		}
	}
	return next, uses, nil
}

// Post sends tools and messages to the model at the address in MODEL_URL, and returns the body of
// its response.
func Post(ctx context.Context, tools, messages any) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"model": "m", "max_tokens": 1000, "tools": tools, "messages": messages})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("MODEL_URL"), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("model: %s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}
