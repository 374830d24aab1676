package mcpmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// geminiWire is the JSON of generateContent.
//
// Source: ai.google.dev/api/generate-content, ai.google.dev/api/caching#Content
type geminiWire struct{}

type geminiTools struct {
	FunctionDeclarations []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name                 string         `json:"name"`
	Description          string         `json:"description"`
	ParametersJSONSchema jsontext.Value `json:"parametersJsonSchema"`
}

type geminiContent struct {
	Role  string       `json:"role,omitzero"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             string          `json:"text,omitzero"`
	Thought          bool            `json:"thought,omitzero"`
	ThoughtSignature string          `json:"thoughtSignature,omitzero"`
	InlineData       *geminiBlob     `json:"inlineData,omitzero"`
	FunctionCall     *geminiCall     `json:"functionCall,omitzero"`
	FunctionResponse *geminiResponse `json:"functionResponse,omitzero"`
}

type geminiBlob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type geminiCall struct {
	ID   string         `json:"id,omitzero"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args,omitzero"`
}

type geminiResponse struct {
	ID       string       `json:"id,omitzero"`
	Name     string       `json:"name"`
	Response geminiOutput `json:"response"`
	Parts    []geminiPart `json:"parts,omitzero"`
}

type geminiOutput struct {
	Output jsontext.Value `json:"output,omitzero"`
	Error  string         `json:"error,omitzero"`
}

func (geminiWire) tools(defs []toolDefinition) any {
	if len(defs) == 0 {
		return []geminiTools{}
	}
	functions := make([]geminiFunction, len(defs))
	for i, d := range defs {
		functions[i] = geminiFunction{d.name, d.description, d.schema}
	}
	return []geminiTools{{functions}}
}

func geminiParts(parts []part) []geminiPart {
	converted := make([]geminiPart, 0, len(parts))
	for _, p := range parts {
		if p.isMedia() {
			converted = append(converted, geminiPart{InlineData: &geminiBlob{p.mimeType, p.media}})
		} else {
			converted = append(converted, geminiPart{Text: p.text})
		}
	}
	return converted
}

func (geminiWire) message(role mcp.Role, parts []part, calls []sampledCall) []jsontext.Value {
	c := geminiContent{Role: "user", Parts: geminiParts(parts)}
	if role == mcp.RoleAssistant {
		c.Role = "model"
	}
	for _, call := range calls {
		c.Parts = append(c.Parts, geminiPart{
			FunctionCall: &geminiCall{call.ID, call.Name, call.Arguments}, ThoughtSignature: call.signature,
		})
	}
	return []jsontext.Value{encode(c)}
}

func (geminiWire) results(results []toolResult) []jsontext.Value {
	c := geminiContent{Role: "user"}
	for _, r := range results {
		response := &geminiResponse{ID: r.call.ID, Name: r.call.Name}
		if r.failed {
			response.Response.Error = joinText(r.parts)
		} else {
			response.Response.Output = jsonText(r.parts)
		}
		for _, p := range r.parts {
			if p.isMedia() {
				response.Parts = append(response.Parts, geminiPart{InlineData: &geminiBlob{p.mimeType, p.media}})
			}
		}
		c.Parts = append(c.Parts, geminiPart{FunctionResponse: response})
	}
	return []jsontext.Value{encode(c)}
}

func (geminiWire) read(response jsontext.Value) (*answer, error) {
	var body struct {
		ModelVersion string `json:"modelVersion"`
		Candidates   []struct {
			Content      jsontext.Value `json:"content"`
			FinishReason string         `json:"finishReason"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason string `json:"blockReason"`
		} `json:"promptFeedback"`
	}
	if err := json.Unmarshal(response, &body, lenient); err != nil {
		return nil, err
	}
	switch {
	case body.PromptFeedback.BlockReason != "":
		return nil, fmt.Errorf("the prompt was blocked: %s", body.PromptFeedback.BlockReason)
	case len(body.Candidates) == 0:
		return nil, errNoAnswer
	}
	a := &answer{stop: body.Candidates[0].FinishReason, model: body.ModelVersion}
	content := body.Candidates[0].Content
	if content == nil {
		if a.stop == "" {
			return nil, errNoAnswer
		}
		return a, nil // for example SAFETY
	}
	var c geminiContent
	if err := json.Unmarshal(content, &c, lenient); err != nil {
		return nil, errors.Join(errNoAnswer, err)
	}
	a.messages = []jsontext.Value{content}
	for _, p := range c.Parts {
		switch {
		case p.Thought:
		case p.FunctionCall != nil:
			call := &Call{p.FunctionCall.ID, p.FunctionCall.Name, arguments(string(p.FunctionCall.Args))}
			a.parts = append(a.parts, answerPart{call: call, signature: p.ThoughtSignature})
		case p.InlineData != nil:
			a.parts = append(a.parts, answerPart{media: part{media: p.InlineData.Data, mimeType: p.InlineData.MIMEType}})
		default:
			a.parts = append(a.parts, answerPart{text: p.Text})
		}
	}
	return a, nil
}

func (geminiWire) request(q *samplingRequest) any {
	type callingConfig struct {
		Mode string `json:"mode"`
	}
	type toolConfig struct {
		FunctionCallingConfig callingConfig `json:"functionCallingConfig"`
	}
	type generationConfig struct {
		MaxOutputTokens int64    `json:"maxOutputTokens"`
		Temperature     *float64 `json:"temperature,omitzero"`
		StopSequences   []string `json:"stopSequences,omitzero"`
	}
	body := struct {
		SystemInstruction *geminiContent   `json:"systemInstruction,omitzero"`
		Contents          []jsontext.Value `json:"contents"`
		GenerationConfig  generationConfig `json:"generationConfig"`
		Tools             *ToolSet         `json:"tools,omitzero"`
		ToolConfig        *toolConfig      `json:"toolConfig,omitzero"`
	}{
		Contents:         q.messages,
		GenerationConfig: generationConfig{q.maxTokens, q.temperature, q.stop},
		Tools:            q.tools,
	}
	if q.system != "" {
		body.SystemInstruction = &geminiContent{Parts: []geminiPart{{Text: q.system}}}
	}
	if q.choice != "" {
		body.ToolConfig = &toolConfig{callingConfig{map[mcp.ToolChoiceMode]string{
			mcp.ToolChoiceAuto: "AUTO", mcp.ToolChoiceRequired: "ANY", mcp.ToolChoiceNone: "NONE",
		}[q.choice]}}
	}
	return body
}

func (geminiWire) stopReason(stop string, calls bool) mcp.StopReason {
	switch {
	case calls:
		return mcp.StopToolUse
	case stop == "STOP":
		return mcp.StopEndTurn
	case stop == "MAX_TOKENS":
		return mcp.StopMaxTokens
	}
	return mcp.StopReason(stop)
}
