package mcpmodel_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpmodel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func conversation() *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		SystemPrompt: "S", MaxTokens: 9, Temperature: new(0.5), StopSequences: []string{"X"},
		Messages: []mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("1+2?"), mcp.Image(png, "image/png")}},
			{Role: mcp.RoleAssistant, Content: mcp.Contents{
				mcp.Text("Let me see."),
				mcp.ToolUseContent{ID: "c1", Name: "add", Input: jsontext.Value(`{"a":1}`), Meta: mcp.Meta{"io.github.fondaco/thoughtSignature": jsontext.Value(`"sig"`)}},
			}},
			{Role: mcp.RoleUser, Content: mcp.Contents{mcp.ToolResultContent{ToolUseID: "c1", Content: mcp.Contents{mcp.Text("3")}}}},
		},
		Tools:      []mcp.Tool{tool("add", `{"type":"object"}`)},
		ToolChoice: &mcp.ToolChoice{Mode: mcp.ToolChoiceRequired},
	}
}

func TestSamplingRequestIsConverted(t *testing.T) {
	t.Parallel()
	for api, want := range map[*mcpmodel.API]string{
		mcpmodel.Anthropic: `{"model":"m","max_tokens":9,"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"1+2?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"c1","name":"add","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"3"}]}]}],` +
			`"temperature":0.5,"stop_sequences":["X"],"tools":[{"name":"add","description":"D","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"any"}}`,
		mcpmodel.OpenAIChat: `{"model":"m","max_completion_tokens":9,"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"1+2?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"Let me see."}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},{"role":"tool","content":"3","tool_call_id":"c1"}],` +
			`"temperature":0.5,"stop":["X"],"tools":[{"type":"function","function":{"name":"add","description":"D","parameters":{"type":"object","properties":{}}}}],"tool_choice":"required"}`,
		mcpmodel.OpenAIResponses: `{"model":"m","max_output_tokens":9,"instructions":"S","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"1+2?"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me see."}]},{"type":"function_call","call_id":"c1","name":"add","arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"c1","output":"3"}],` +
			`"temperature":0.5,"tools":[{"type":"function","name":"add","description":"D","parameters":{"type":"object","properties":{}},"strict":false}],"tool_choice":"required","store":false}`,
		mcpmodel.Gemini: `{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"role":"user","parts":[{"text":"1+2?"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]},` +
			`{"role":"model","parts":[{"text":"Let me see."},{"thoughtSignature":"sig","functionCall":{"id":"c1","name":"add","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"add","response":{"output":"3"}}}]}],` +
			`"generationConfig":{"maxOutputTokens":9,"temperature":0.5,"stopSequences":["X"]},"tools":[{"functionDeclarations":[{"name":"add","description":"D","parametersJsonSchema":{"type":"object","properties":{}}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`,
	} {
		got, err := api.With(mcpmodel.Options{Strict: true}).SamplingRequest("m", conversation())
		if err != nil || string(got) != want {
			t.Errorf("%s: got  %s, %v\nwant %s", api, got, err, want)
		}
	}
}

func TestSamplingRequestThatAnAPICannotTake(t *testing.T) {
	t.Parallel()
	badName, badInput, badChoice := conversation(), conversation(), conversation()
	badName.Tools[0].Name = "a.b"
	badInput.Messages[1].Content[1] = mcp.ToolUseContent{ID: "c1", Name: "add", Input: jsontext.Value(`[`)}
	badChoice.ToolChoice.Mode = "some"
	for want, p := range map[string]*mcp.CreateMessageParams{
		`tool "a.b": the API refuses the name`:                          badName,
		`message 1: tool use "c1": found input "[", want a JSON object`: badInput,
		`found tool choice "some", want auto, required or none`:         badChoice,
	} {
		_, err := mcpmodel.Anthropic.SamplingRequest("m", p)
		if err == nil || !strings.Contains(err.Error(), want) || mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("got error %v, want invalid params with %q", err, want)
		}
	}
}

func TestSamplingResultIsConverted(t *testing.T) {
	t.Parallel()
	for api, response := range responses {
		result, err := api.SamplingResult(jsontext.Value(response))
		if err != nil {
			t.Fatal(err)
		}
		if result.Model != "m" || result.Role != mcp.RoleAssistant || result.StopReason != mcp.StopToolUse || result.Content.Text() != "Let me see." || len(result.Content) != 2 {
			t.Errorf("%s: got %+v", api, result)
		}
		use, ok := result.Content[1].(mcp.ToolUseContent)
		if !ok || use.ID != "c1" || use.Name != "add" || string(use.Input) != `{"a":1,"b":2}` {
			t.Errorf("%s: got %+v, want the call", api, result.Content[1])
		}
		if signature := string(use.Meta["io.github.fondaco/thoughtSignature"]); (signature == `"sig"`) != (api == mcpmodel.Gemini) {
			t.Errorf("%s: got signature %s", api, signature)
		}
	}
	for response, want := range map[*mcpmodel.API]struct {
		text string
		stop mcp.StopReason
	}{
		mcpmodel.Anthropic:       {`{"content":[{"type":"text","text":"A"}],"stop_reason":"max_tokens"}`, mcp.StopMaxTokens},
		mcpmodel.OpenAIChat:      {`{"choices":[{"message":{"content":"A"},"finish_reason":"length"}]}`, mcp.StopMaxTokens},
		mcpmodel.OpenAIResponses: {`{"output":[{"type":"message","content":[{"type":"output_text","text":"A"}]}],"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`, mcp.StopMaxTokens},
		mcpmodel.Gemini:          {`{"candidates":[{"content":{"parts":[{"text":"A"}]},"finishReason":"MAX_TOKENS"}]}`, mcp.StopMaxTokens},
	} {
		result, err := response.SamplingResult(jsontext.Value(want.text))
		if err != nil || result.StopReason != want.stop || result.Content.Text() != "A" {
			t.Errorf("%s: got %+v, error %v, want %s", response, result, err, want.stop)
		}
	}
	drawn, err := mcpmodel.Gemini.SamplingResult(jsontext.Value(`{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]},"finishReason":"STOP"}]}`))
	if err != nil || len(drawn.Content) != 1 || drawn.StopReason != mcp.StopEndTurn {
		t.Fatalf("got %+v, error %v, want an image", drawn, err)
	}
	if image, ok := drawn.Content[0].(mcp.ImageContent); !ok || string(image.Data) != string(png) {
		t.Errorf("got %+v, want the image", drawn.Content[0])
	}
	if _, err := mcpmodel.OpenAIChat.SamplingResult(jsontext.Value(`{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"add","arguments":"{"}}]}}]}`)); err == nil {
		t.Error("got a result with arguments that are no JSON, want an error")
	}
}

// A server samples through a client whose handler is three calls.
func TestASamplingHandlerConvertsBothWays(t *testing.T) {
	t.Parallel()
	server := mcpserver.New("asks", "1", nil)
	server.Tool("ask", "Asks the model", func(ctx context.Context, _ struct{}) (string, error) {
		result, err := mcpserver.Sample(ctx, "q", &mcp.CreateMessageParams{
			MaxTokens: 10, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Hi")}}},
		})
		if err != nil {
			return "", err
		}
		return result.Content.Text(), nil
	})
	for api, response := range map[*mcpmodel.API]string{
		mcpmodel.Anthropic:       `{"model":"m","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn"}`,
		mcpmodel.OpenAIChat:      `{"model":"m","choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}`,
		mcpmodel.OpenAIResponses: `{"model":"m","output":[{"type":"message","content":[{"type":"output_text","text":"Hello"}]}],"status":"completed"}`,
		mcpmodel.Gemini:          `{"modelVersion":"m","candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}`,
	} {
		client := mcptest.Connect(t, server, &mcpclient.Options{
			Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				if _, err := api.SamplingRequest("m", p); err != nil {
					return nil, err
				}
				return api.SamplingResult(jsontext.Value(response))
			},
		})
		if text, err := client.Call[string](t.Context(), "ask", nil); err != nil || text != "Hello" {
			t.Errorf("%s: got %q, error %v, want the answer of the model", api, text, err)
		}
	}
}
