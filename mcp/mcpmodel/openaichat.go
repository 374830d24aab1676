package mcpmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// chatWire is the JSON of the Chat Completions API.
//
// Source: platform.openai.com/docs/api-reference/chat/create
type chatWire struct{}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      bool           `json:"strict,omitzero"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a string, []chatPart, or nil
	ToolCalls  []chatCall `json:"tool_calls,omitzero"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
}

type chatPart struct {
	Type       string      `json:"type"`
	Text       string      `json:"text,omitzero"`
	ImageURL   *chatURL    `json:"image_url,omitzero"`
	InputAudio *chatAudio  `json:"input_audio,omitzero"`
	File       *openAIFile `json:"file,omitzero"`
}

type chatURL struct {
	URL string `json:"url"`
}

type chatAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type openAIFile struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (chatWire) tools(defs []toolDefinition) any {
	tools := make([]chatTool, len(defs))
	for i, d := range defs {
		tools[i] = chatTool{"function", chatFunction{d.name, d.description, d.schema, d.strict}}
	}
	return tools
}

func chatParts(parts []part) []chatPart {
	converted := make([]chatPart, 0, len(parts))
	for _, p := range parts {
		c := chatPart{Type: "text", Text: p.text}
		switch {
		case !p.isMedia():
		case strings.HasPrefix(p.mimeType, "image/"):
			c = chatPart{Type: "image_url", ImageURL: &chatURL{p.dataURL()}}
		case strings.HasPrefix(p.mimeType, "audio/"):
			format := map[string]string{"audio/wav": "wav", "audio/mpeg": "mp3"}[p.mimeType]
			c = chatPart{Type: "input_audio", InputAudio: &chatAudio{p.base64(), format}}
		default:
			c = chatPart{Type: "file", File: &openAIFile{"file.pdf", p.dataURL()}}
		}
		converted = append(converted, c)
	}
	return converted
}

func (chatWire) message(role mcp.Role, parts []part, calls []sampledCall) []jsontext.Value {
	m := chatMessage{Role: string(role)}
	if len(parts) > 0 {
		m.Content = chatParts(parts)
	}
	for _, c := range calls {
		call := chatCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Name, string(c.Arguments)
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return []jsontext.Value{encode(m)}
}

// failedPrefix begins the text of a failed result where an API has no member for that.
const failedPrefix = "Error: "

func (chatWire) results(results []toolResult) []jsontext.Value {
	messages := make([]jsontext.Value, len(results))
	for i, r := range results {
		text := joinText(r.parts)
		if r.failed {
			text = failedPrefix + text
		}
		messages[i] = encode(chatMessage{Role: "tool", Content: text, ToolCallID: r.call.ID})
	}
	return messages
}

func (chatWire) read(response jsontext.Value) (*answer, error) {
	var body struct {
		Model   string `json:"model"`
		Choices []struct {
			Message      jsontext.Value `json:"message"`
			FinishReason string         `json:"finish_reason"`
		} `json:"choices"`
	}
	var message struct {
		Content   jsontext.Value `json:"content"`
		Refusal   string         `json:"refusal"`
		ToolCalls []chatCall     `json:"tool_calls"`
	}
	if err := json.Unmarshal(response, &body, lenient); err != nil {
		return nil, err
	}
	if len(body.Choices) == 0 || body.Choices[0].Message.Kind() != '{' {
		return nil, errNoAnswer
	}
	choice := body.Choices[0]
	if err := json.Unmarshal(choice.Message, &message, lenient); err != nil {
		return nil, err
	}
	a := &answer{stop: choice.FinishReason, model: body.Model, messages: []jsontext.Value{choice.Message}}
	if text := chatText(message.Content) + message.Refusal; text != "" {
		a.parts = append(a.parts, answerPart{text: text})
	}
	for _, c := range message.ToolCalls {
		if c.Type == "" || c.Type == "function" {
			a.parts = append(a.parts, answerPart{call: &Call{c.ID, c.Function.Name, arguments(c.Function.Arguments)}})
		}
	}
	return a, nil
}

// chatText returns the text of a content, which is a string, a list of parts or null.
func chatText(content jsontext.Value) string {
	var text string
	var parts []chatPart
	if json.Unmarshal(content, &text, lenient) != nil && json.Unmarshal(content, &parts, lenient) == nil {
		for _, p := range parts {
			text += p.Text
		}
	}
	return text
}

func (chatWire) request(q *samplingRequest) any {
	messages := q.messages
	if q.system != "" {
		messages = append([]jsontext.Value{encode(chatMessage{Role: "system", Content: q.system})}, messages...)
	}
	return struct {
		Model               string             `json:"model"`
		MaxCompletionTokens int64              `json:"max_completion_tokens"`
		Messages            []jsontext.Value   `json:"messages"`
		Temperature         *float64           `json:"temperature,omitzero"`
		Stop                []string           `json:"stop,omitzero"`
		Tools               *ToolSet           `json:"tools,omitzero"`
		ToolChoice          mcp.ToolChoiceMode `json:"tool_choice,omitzero"` // has the same words
	}{
		q.model, q.maxTokens, messages, q.temperature, q.stop, q.tools, q.choice,
	}
}

func (chatWire) stopReason(stop string, _ bool) mcp.StopReason {
	switch stop {
	case "stop":
		return mcp.StopEndTurn
	case "length":
		return mcp.StopMaxTokens
	case "tool_calls":
		return mcp.StopToolUse
	}
	return mcp.StopReason(stop)
}
