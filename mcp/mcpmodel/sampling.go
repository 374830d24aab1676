package mcpmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// wire is the JSON of an API.
type wire interface {
	tools(defs []toolDefinition) any
	// message returns a message with parts and, of the assistant, calls.
	message(role mcp.Role, parts []part, calls []sampledCall) []jsontext.Value
	results(results []toolResult) []jsontext.Value
	read(response jsontext.Value) (*answer, error)
	request(q *samplingRequest) any
	stopReason(stop string, calls bool) mcp.StopReason
}

// samplingRequest is a sampling request as APIs have it.
type samplingRequest struct {
	model, system string
	maxTokens     int64
	temperature   *float64
	stop          []string
	messages      []jsontext.Value
	tools         *ToolSet // nil: none
	choice        mcp.ToolChoiceMode
}

// sampledCall is a call in the messages of a sampling request.
type sampledCall struct {
	Call
	signature string
}

// metaSignature is the key of _meta of a tool_use block for the signature that Gemini requires
// with a call that is sent back.
const metaSignature = "io.github.fondaco/thoughtSignature"

// SamplingRequest returns the body of the request by which a client answers a sampling request
// of a server. The model is the name of a model of the API; Gemini has it in the URL instead of
// the body. The error says which part of the request the API cannot take: it is of the kind
// invalid params, to return from mcpclient.Options.Sample.
//
// MaxTokens, the system prompt, temperature, tools and tool choice are converted, and stop
// sequences except by OpenAIResponses, whose API has none. Metadata and IncludeContext are
// not: they are up to the application.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
func (a *API) SamplingRequest(model string, p *mcp.CreateMessageParams) (jsontext.Value, error) {
	q := &samplingRequest{
		model: model, system: p.SystemPrompt, maxTokens: p.MaxTokens,
		temperature: p.Temperature, stop: p.StopSequences,
	}
	names := make(map[string]string) // of tools, by the ids of their calls
	for i, m := range p.Messages {
		messages, err := a.samplingMessage(m, names)
		if err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: message %d: %v", a, i, err)
		}
		q.messages = append(q.messages, messages...)
	}
	if len(p.Tools) == 0 {
		return encode(a.wire.request(q)), nil
	}
	var err error
	if q.tools, err = a.With(Options{MaxText: a.opts.MaxText}).Tools(p.Tools); err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%v", err)
	}
	if p.ToolChoice != nil {
		switch p.ToolChoice.Mode {
		case "", mcp.ToolChoiceAuto, mcp.ToolChoiceRequired, mcp.ToolChoiceNone:
			q.choice = p.ToolChoice.Mode
		default:
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: found tool choice %.32q, want auto, required or none", a, p.ToolChoice.Mode)
		}
	}
	return encode(a.wire.request(q)), nil
}

func (a *API) samplingMessage(m mcp.SamplingMessage, names map[string]string) ([]jsontext.Value, error) {
	var plain mcp.Contents
	var calls []sampledCall
	var results []toolResult
	for _, c := range m.Content {
		switch c := c.(type) {
		case mcp.ToolUseContent:
			if c.Input.Kind() != '{' || !c.Input.IsValid() {
				return nil, fmt.Errorf("tool use %.64q: found input %s, want a JSON object", c.ID, excerpt(c.Input))
			}
			names[c.ID] = c.Name
			call := sampledCall{Call: Call{c.ID, c.Name, c.Input}}
			_ = json.Unmarshal(c.Meta[metaSignature], &call.signature) // none is a signature of no thought
			calls = append(calls, call)
		case mcp.ToolResultContent:
			call := Call{ID: c.ToolUseID, Name: names[c.ToolUseID]}
			results = append(results, toolResult{call, a.resultParts(c.Content, c.StructuredContent), c.IsError})
		default:
			plain = append(plain, c)
		}
	}
	var messages []jsontext.Value
	if len(results) > 0 {
		messages = a.wire.results(results)
	}
	if len(plain) > 0 || len(calls) > 0 {
		var parts []part
		if len(plain) > 0 {
			parts = a.parts(plain, a.mediaOf(m.Role))
		}
		messages = append(messages, a.wire.message(m.Role, parts, calls)...)
	}
	return messages, nil
}

// SamplingResult reads the response to a SamplingRequest, the whole JSON body, into the result
// for the server.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
func (a *API) SamplingResult(response jsontext.Value) (*mcp.CreateMessageResult, error) {
	ans, err := a.read(response)
	if err != nil {
		return nil, err
	}
	result := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: ans.model}
	calls := 0
	for _, p := range ans.parts {
		switch {
		case p.call != nil:
			calls++
			use := mcp.ToolUseContent{ID: p.call.ID, Name: p.call.Name, Input: p.call.Arguments}
			if use.ID == "" {
				use.ID = fmt.Sprintf("call_%d", calls)
			}
			if use.Input.Kind() != '{' || !use.Input.IsValid() {
				return nil, fmt.Errorf("%s: call of %.64q: found arguments %s, want a JSON object", a, p.call.Name, excerpt(use.Input))
			}
			if p.signature != "" {
				use.Meta = mcp.Meta{metaSignature: encode(p.signature)}
			}
			result.Content = append(result.Content, use)
		case strings.HasPrefix(p.media.mimeType, "image/"):
			result.Content = append(result.Content, mcp.Image(p.media.media, p.media.mimeType))
		case strings.HasPrefix(p.media.mimeType, "audio/"):
			result.Content = append(result.Content, mcp.Audio(p.media.media, p.media.mimeType))
		case p.text != "":
			result.Content = append(result.Content, mcp.Text(p.text))
		}
	}
	if result.Content == nil {
		result.Content = mcp.Contents{mcp.Text("")}
	}
	result.StopReason = a.wire.stopReason(ans.stop, calls > 0)
	return result, nil
}
