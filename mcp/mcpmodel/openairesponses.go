package mcpmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// responsesWire is the JSON of the Responses API.
//
// Source: platform.openai.com/docs/api-reference/responses/create
type responsesWire struct{}

type responsesTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      bool           `json:"strict"` // the default of the API is true
}

// responsesItem is an item of input or output: a message, a call or the output of a call.
type responsesItem struct {
	Type      string   `json:"type,omitzero"`
	Role      mcp.Role `json:"role,omitzero"`
	Content   any      `json:"content,omitzero"` // []responsesPart
	CallID    string   `json:"call_id,omitzero"`
	Name      string   `json:"name,omitzero"`
	Arguments string   `json:"arguments,omitzero"`
	Output    any      `json:"output,omitzero"` // a string, or []responsesPart
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	ImageURL string `json:"image_url,omitzero"`
	Filename string `json:"filename,omitzero"`
	FileData string `json:"file_data,omitzero"`
}

func (responsesWire) tools(defs []toolDefinition) any {
	tools := make([]responsesTool, len(defs))
	for i, d := range defs {
		tools[i] = responsesTool{"function", d.name, d.description, d.schema, d.strict}
	}
	return tools
}

func responsesParts(parts []part, textType string) []responsesPart {
	converted := make([]responsesPart, 0, len(parts))
	for _, p := range parts {
		c := responsesPart{Type: textType, Text: p.text}
		switch {
		case !p.isMedia():
		case strings.HasPrefix(p.mimeType, "image/"):
			c = responsesPart{Type: "input_image", ImageURL: p.dataURL()}
		default:
			c = responsesPart{Type: "input_file", Filename: "file.pdf", FileData: p.dataURL()}
		}
		converted = append(converted, c)
	}
	return converted
}

func (responsesWire) message(role mcp.Role, parts []part, calls []sampledCall) []jsontext.Value {
	var items []jsontext.Value
	if len(parts) > 0 {
		textType := "input_text"
		if role == mcp.RoleAssistant {
			textType = "output_text"
		}
		items = append(items, encode(responsesItem{Type: "message", Role: role, Content: responsesParts(parts, textType)}))
	}
	for _, c := range calls {
		items = append(items, encode(responsesItem{Type: "function_call", CallID: c.ID, Name: c.Name, Arguments: string(c.Arguments)}))
	}
	return items
}

func (responsesWire) results(results []toolResult) []jsontext.Value {
	items := make([]jsontext.Value, len(results))
	for i, r := range results {
		parts := r.parts
		if r.failed {
			parts = append([]part{{text: strings.TrimSpace(failedPrefix)}}, parts...)
		}
		item := responsesItem{Type: "function_call_output", CallID: r.call.ID, Output: responsesParts(parts, "input_text")}
		if text := joinText(r.parts); !hasMedia(r.parts) {
			if r.failed {
				text = failedPrefix + text
			}
			item.Output = text
		}
		items[i] = encode(item)
	}
	return items
}

func hasMedia(parts []part) bool {
	for _, p := range parts {
		if p.isMedia() {
			return true
		}
	}
	return false
}

func (responsesWire) read(response jsontext.Value) (*answer, error) {
	var body struct {
		Model      string           `json:"model"`
		Status     string           `json:"status"`
		Output     []jsontext.Value `json:"output"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	}
	if err := json.Unmarshal(response, &body, lenient); err != nil {
		return nil, err
	}
	if body.Output == nil {
		return nil, errNoAnswer
	}
	a := &answer{stop: body.Status, model: body.Model, messages: body.Output}
	if body.Incomplete.Reason != "" {
		a.stop = body.Incomplete.Reason
	}
	for _, raw := range body.Output {
		var item struct {
			Type    string `json:"type"`
			Content []struct {
				Text    string `json:"text"`
				Refusal string `json:"refusal"`
			} `json:"content"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}
		if err := json.Unmarshal(raw, &item, lenient); err != nil {
			continue // an item of a kind that is not read here
		}
		switch item.Type {
		case "message":
			for _, c := range item.Content {
				a.parts = append(a.parts, answerPart{text: c.Text + c.Refusal})
			}
		case "function_call":
			a.parts = append(a.parts, answerPart{call: &Call{item.CallID, item.Name, arguments(item.Arguments)}})
		}
	}
	return a, nil
}

func (responsesWire) request(q *samplingRequest) any {
	return struct {
		Model           string             `json:"model"`
		MaxOutputTokens int64              `json:"max_output_tokens"`
		Instructions    string             `json:"instructions,omitzero"`
		Input           []jsontext.Value   `json:"input"`
		Temperature     *float64           `json:"temperature,omitzero"`
		Tools           *ToolSet           `json:"tools,omitzero"`
		ToolChoice      mcp.ToolChoiceMode `json:"tool_choice,omitzero"` // has the same words
		Store           bool               `json:"store"`                // the default of the API is true
	}{
		Model: q.model, MaxOutputTokens: q.maxTokens, Instructions: q.system, Input: q.messages,
		Temperature: q.temperature, Tools: q.tools, ToolChoice: q.choice,
	}
}

func (responsesWire) stopReason(stop string, calls bool) mcp.StopReason {
	switch {
	case stop == "completed" && calls:
		return mcp.StopToolUse
	case stop == "completed":
		return mcp.StopEndTurn
	case stop == "max_output_tokens":
		return mcp.StopMaxTokens
	}
	return mcp.StopReason(stop)
}
