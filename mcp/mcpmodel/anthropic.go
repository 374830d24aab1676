package mcpmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// anthropicWire is the JSON of the Messages API.
//
// Source: platform.claude.com/docs/en/api/messages/create
type anthropicWire struct{}

type anthropicTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema jsontext.Value `json:"input_schema"`
	Strict      bool           `json:"strict,omitzero"`
}

type anthropicMessage struct {
	Role    mcp.Role         `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type string `json:"type"`
	// text
	Text string `json:"text,omitzero"`
	// image, document
	Source *anthropicSource `json:"source,omitzero"`
	// tool_use
	ID    string         `json:"id,omitzero"`
	Name  string         `json:"name,omitzero"`
	Input jsontext.Value `json:"input,omitzero"`
	// tool_result
	ToolUseID string           `json:"tool_use_id,omitzero"`
	Content   []anthropicBlock `json:"content,omitzero"`
	IsError   bool             `json:"is_error,omitzero"`
}

type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

func (anthropicWire) tools(defs []toolDefinition) any {
	tools := make([]anthropicTool, len(defs))
	for i, d := range defs {
		tools[i] = anthropicTool{d.name, d.description, d.schema, d.strict}
	}
	return tools
}

func anthropicBlocks(parts []part) []anthropicBlock {
	blocks := make([]anthropicBlock, 0, len(parts))
	for _, p := range parts {
		b := anthropicBlock{Type: "text", Text: p.text}
		if p.isMedia() {
			b = anthropicBlock{Type: "document", Source: &anthropicSource{"base64", p.mimeType, p.base64()}}
			if strings.HasPrefix(p.mimeType, "image/") {
				b.Type = "image"
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func (anthropicWire) message(role mcp.Role, parts []part, calls []sampledCall) []jsontext.Value {
	m := anthropicMessage{role, anthropicBlocks(parts)}
	for _, c := range calls {
		m.Content = append(m.Content, anthropicBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Arguments})
	}
	return []jsontext.Value{encode(m)}
}

func (anthropicWire) results(results []toolResult) []jsontext.Value {
	m := anthropicMessage{Role: mcp.RoleUser}
	for _, r := range results {
		m.Content = append(m.Content, anthropicBlock{
			Type: "tool_result", ToolUseID: r.call.ID, Content: anthropicBlocks(r.parts), IsError: r.failed,
		})
	}
	return []jsontext.Value{encode(m)}
}

func (anthropicWire) read(response jsontext.Value) (*answer, error) {
	var body struct {
		Content    jsontext.Value `json:"content"`
		Model      string         `json:"model"`
		StopReason string         `json:"stop_reason"`
	}
	var blocks []anthropicBlock
	if err := json.Unmarshal(response, &body, lenient); err != nil {
		return nil, err
	}
	if body.Content.Kind() != '[' {
		return nil, errNoAnswer
	}
	if err := json.Unmarshal(body.Content, &blocks, lenient); err != nil {
		return nil, err
	}
	a := &answer{stop: body.StopReason, model: body.Model}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			a.parts = append(a.parts, answerPart{text: b.Text})
		case "tool_use":
			a.parts = append(a.parts, answerPart{call: &Call{b.ID, b.Name, arguments(string(b.Input))}})
		}
	}
	if len(blocks) > 0 {
		a.messages = []jsontext.Value{encode(struct {
			Role    mcp.Role       `json:"role"`
			Content jsontext.Value `json:"content"`
		}{mcp.RoleAssistant, body.Content})}
	}
	return a, nil
}

func (anthropicWire) request(q *samplingRequest) any {
	type choice struct {
		Type string `json:"type"`
	}
	body := struct {
		Model         string           `json:"model"`
		MaxTokens     int64            `json:"max_tokens"`
		System        string           `json:"system,omitzero"`
		Messages      []jsontext.Value `json:"messages"`
		Temperature   *float64         `json:"temperature,omitzero"`
		StopSequences []string         `json:"stop_sequences,omitzero"`
		Tools         *ToolSet         `json:"tools,omitzero"`
		ToolChoice    *choice          `json:"tool_choice,omitzero"`
	}{
		Model: q.model, MaxTokens: q.maxTokens, System: q.system, Messages: q.messages,
		Temperature: q.temperature, StopSequences: q.stop, Tools: q.tools,
	}
	if q.choice != "" {
		body.ToolChoice = &choice{map[mcp.ToolChoiceMode]string{
			mcp.ToolChoiceAuto: "auto", mcp.ToolChoiceRequired: "any", mcp.ToolChoiceNone: "none",
		}[q.choice]}
	}
	return body
}

func (anthropicWire) stopReason(stop string, _ bool) mcp.StopReason {
	switch stop {
	case "end_turn":
		return mcp.StopEndTurn
	case "stop_sequence":
		return mcp.StopStopSequence
	case "max_tokens":
		return mcp.StopMaxTokens
	case "tool_use":
		return mcp.StopToolUse
	}
	return mcp.StopReason(stop)
}
