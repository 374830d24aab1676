package mcpmodel_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpmodel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

var png = []byte("\x89PNG\r\n\x1a\n")

func tool(name, schema string) mcp.Tool {
	return mcp.Tool{Name: name, Description: "D", InputSchema: jsontext.Value(schema)}
}

func TestToolsAreConverted(t *testing.T) {
	t.Parallel()
	list := []mcp.Tool{
		tool("add", `{"type":"object","properties":{"a":{"type":"integer"}}}`),
		tool("any", `{"type":"object"}`),
	}
	tests := []struct {
		api  *mcpmodel.API
		want string
	}{
		{mcpmodel.Anthropic, `[{"name":"add","description":"D","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}},{"name":"any","description":"D","input_schema":{"type":"object","properties":{}}}]`},
		{mcpmodel.OpenAIChat, `[{"type":"function","function":{"name":"add","description":"D","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}},{"type":"function","function":{"name":"any","description":"D","parameters":{"type":"object","properties":{}}}}]`},
		{mcpmodel.OpenAIResponses, `[{"type":"function","name":"add","description":"D","parameters":{"type":"object","properties":{"a":{"type":"integer"}}},"strict":false},{"type":"function","name":"any","description":"D","parameters":{"type":"object","properties":{}},"strict":false}]`},
		{mcpmodel.Gemini, `[{"functionDeclarations":[{"name":"add","description":"D","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"integer"}}}},{"name":"any","description":"D","parametersJsonSchema":{"type":"object","properties":{}}}]}]`},
		{mcpmodel.OpenAIChat.With(mcpmodel.Options{Strict: true}), `[{"type":"function","function":{"name":"add","description":"D","parameters":{"type":"object","properties":{"a":{"type":["integer","null"]}},"required":["a"],"additionalProperties":false},"strict":true}},{"type":"function","function":{"name":"any","description":"D","parameters":{"type":"object","properties":{}}}}]`},
	}
	for _, tt := range tests {
		tools, err := tt.api.Tools(list)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(tools)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got  %s, %v\nwant %s", tt.api, got, err, tt.want)
		}
	}
}

func TestAToolThatAnAPICannotTakeHarmsNoOther(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-13")
	list := []mcp.Tool{
		tool("good", `{"type":"object"}`),
		tool("files.read", `{"type":"object"}`),
		tool("bad", `{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`),
		tool("good", `{"type":"object"}`),
		tool("also", `{"type":"object"}`),
	}
	tools, err := mcpmodel.Anthropic.Tools(list)
	if got := tools.Names(); fmt.Sprint(got) != "[good also]" {
		t.Errorf("got tools %q, want the good ones", got)
	}
	failed, ok := errors.AsType[*mcpmodel.ToolsError](err)
	if !ok || len(failed.Tools) != 3 || failed.Tools["bad"] == nil || failed.Tools["good"] == nil {
		t.Fatalf("got error %v, want one with each tool that failed", err)
	}
	if text := failed.Tools["files.read"].Error(); !strings.Contains(text, "mcp.QualifiedName") {
		t.Errorf("got error %q, want one that says what would be right", text)
	}
	tools, err = mcpmodel.Gemini.Tools(list[:2])
	if err != nil || len(tools.Names()) != 2 {
		t.Errorf("got tools %q, error %v, want a name with a dot with Gemini", tools.Names(), err)
	}
}

func TestToolsOverALimitOfTheAPIFail(t *testing.T) {
	t.Parallel()
	var list []mcp.Tool
	for i := range 130 {
		list = append(list, tool(fmt.Sprintf("t%03d", i), `{"type":"object","properties":{"a":{"type":"string"}}}`))
	}
	tools, err := mcpmodel.OpenAIChat.Tools(list)
	failed, _ := errors.AsType[*mcpmodel.ToolsError](err)
	if len(tools.Names()) != 128 || failed == nil || failed.Tools["t128"] == nil || failed.Tools["t129"] == nil {
		t.Errorf("got %d tools, error %v, want 128 and the others in the error", len(tools.Names()), err)
	}
	tools, err = mcpmodel.Anthropic.With(mcpmodel.Options{Strict: true}).Tools(list)
	if n := strings.Count(string(tools.JSON()), `"strict":true`); err != nil || n != 20 {
		t.Errorf("got %d strict tools, error %v, want as many as the API takes", n, err)
	}
	long := tool("long", `{"type":"object"}`)
	long.Description = strings.Repeat("é", 2000)
	tools, err = mcpmodel.OpenAIChat.Tools([]mcp.Tool{long})
	if text := string(tools.JSON()); err != nil || !strings.Contains(text, strings.Repeat("é", 1023)+"…") || strings.Contains(text, strings.Repeat("é", 1024)) {
		t.Errorf("got a description of another length than 1,024 characters, error %v", err)
	}
}

// responses are answers of the four APIs with the text "Let me see." and a call of add.
var responses = map[*mcpmodel.API]string{
	mcpmodel.Anthropic:       `{"model":"m","role":"assistant","content":[{"type":"thinking","thinking":"…","signature":"s"},{"type":"text","text":"Let me see."},{"type":"tool_use","id":"c1","name":"add","input":{"a":1,"b":2}}],"stop_reason":"tool_use"}`,
	mcpmodel.OpenAIChat:      `{"model":"m","error":null,"choices":[{"message":{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}]},"finish_reason":"tool_calls"}]}`,
	mcpmodel.OpenAIResponses: `{"model":"m","status":"completed","error":null,"incomplete_details":null,"output":[{"type":"reasoning","id":"r1","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me see."}]},{"type":"function_call","id":"f1","call_id":"c1","name":"add","arguments":"{\"a\":1,\"b\":2}"}]}`,
	mcpmodel.Gemini:          `{"modelVersion":"m","candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"Let me see."},{"functionCall":{"id":"c1","name":"add","args":{"a":1,"b":2}},"thoughtSignature":"sig"}]},"finishReason":"STOP"}]}`,
}

// followUps are the messages that follow the responses when the tool has returned 3.
var followUps = map[*mcpmodel.API]string{
	mcpmodel.Anthropic: `{"role":"user","content":[{"type":"text","text":"1+2?"}]}
{"role":"assistant","content":[{"type":"thinking","thinking":"…","signature":"s"},{"type":"text","text":"Let me see."},{"type":"tool_use","id":"c1","name":"add","input":{"a":1,"b":2}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"3"}]}]}`,
	mcpmodel.OpenAIChat: `{"role":"user","content":[{"type":"text","text":"1+2?"}]}
{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}]}
{"role":"tool","content":"3","tool_call_id":"c1"}`,
	mcpmodel.OpenAIResponses: `{"type":"message","role":"user","content":[{"type":"input_text","text":"1+2?"}]}
{"type":"reasoning","id":"r1","summary":[]}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me see."}]}
{"type":"function_call","id":"f1","call_id":"c1","name":"add","arguments":"{\"a\":1,\"b\":2}"}
{"type":"function_call_output","call_id":"c1","output":"3"}`,
	mcpmodel.Gemini: `{"role":"user","parts":[{"text":"1+2?"}]}
{"role":"model","parts":[{"text":"hm","thought":true},{"text":"Let me see."},{"functionCall":{"id":"c1","name":"add","args":{"a":1,"b":2}},"thoughtSignature":"sig"}]}
{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"add","response":{"output":"3"}}}]}`,
}

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

func calculator() *mcpserver.Server {
	s := mcpserver.New("calculator", "1", nil)
	s.Tool("add", "Adds two numbers", func(_ context.Context, in sum) (string, error) { return fmt.Sprint(in.A + in.B), nil })
	return s
}

func TestAnAgentLoopWorksWithEveryAPI(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-13")
	client := mcptest.Connect(t, calculator(), nil)
	var list []mcp.Tool
	for tool, err := range client.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool)
	}
	for api, response := range responses {
		tools, err := api.Tools(list)
		if err != nil {
			t.Fatal(err)
		}
		messages := []jsontext.Value{api.User(mcp.Text("1+2?"))}
		turn, err := tools.Turn(jsontext.Value(response))
		if err != nil {
			t.Fatal(err)
		}
		if turn.Text != "Let me see." || len(turn.Calls) != 1 {
			t.Fatalf("%s: got %+v, want a text and a call", api, turn)
		}
		messages = append(messages, turn.Messages...)
		var results []mcpmodel.Result
		for _, call := range turn.Calls {
			result, err := client.CallTool(t.Context(), call.Name, call.Arguments)
			results = append(results, call.Result(result, err))
		}
		messages = append(messages, api.Results(results...)...)
		var lines []string
		for _, m := range messages {
			lines = append(lines, string(m))
		}
		if got := strings.Join(lines, "\n"); got != followUps[api] {
			t.Errorf("%s: got\n%s\nwant\n%s", api, got, followUps[api])
		}
	}
}

// What a model writes instead of a JSON object comes back to it as an error.
func TestArgumentsThatAreNoJSONComeBackToTheModel(t *testing.T) {
	t.Parallel()
	client := mcptest.Connect(t, calculator(), nil)
	for _, arguments := range []string{`{\"a\":1,`, `{\"a\":1}}`, `[1]`, `nothing`} {
		tools, err := mcpmodel.OpenAIChat.Tools(nil)
		if err != nil {
			t.Fatal(err)
		}
		turn, err := tools.Turn(jsontext.Value(`{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"add","arguments":"` + arguments + `"}}]}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		result, err := client.CallTool(t.Context(), turn.Calls[0].Name, turn.Calls[0].Arguments)
		if err == nil {
			t.Fatalf("%s: got a result, want an error", arguments)
		}
		if text := string(mcpmodel.OpenAIChat.Results(turn.Calls[0].Result(result, err))[0]); !strings.HasPrefix(text, `{"role":"tool","content":"Error: call \"add\": `) {
			t.Errorf("%s: got %s, want the error", arguments, text)
		}
	}
}

func TestNullsOfStrictModeAreRemoved(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-13")
	api := mcpmodel.OpenAIResponses.With(mcpmodel.Options{Strict: true})
	tools, err := api.Tools([]mcp.Tool{tool("t", `{"type":"object","properties":{
		"a":{"type":"string"},"b":{"type":["string","null"]},
		"c":{"type":"array","items":{"type":"object","properties":{"d":{"type":"number"},"e":{"type":"null"}}}},
		"f":{"anyOf":[{"type":"object","properties":{"g":{"type":"string"},"k":{"const":"x"}},"required":["k"]},{"type":"object","properties":{"g":{"type":["string","null"]},"k":{"const":"y"}},"required":["k"]}]}}}`)})
	if err != nil || !strings.Contains(string(tools.JSON()), `"strict":true`) {
		t.Fatalf("got %s, error %v, want a strict tool", tools.JSON(), err)
	}
	for arguments, want := range map[string]string{
		`{"a":null,"b":null,"c":null,"f":null}`:                   `{"b":null}`,
		`{"a":"null","c":[{"d":null,"e":null},{"d":1,"e":null}]}`: `{"a":"null","c":[{"e":null},{"d":1,"e":null}]}`,
		`{"f":{"g":null,"k":"x"}}`:                                `{"f":{"k":"x"}}`,
		`{"f":{"g":null,"k":"y"}}`:                                `{"f":{"g":null,"k":"y"}}`,
		`{"other":null}`:                                          `{"other":null}`,
	} {
		response, err := json.Marshal(map[string]any{"output": []any{map[string]any{"type": "function_call", "call_id": "1", "name": "t", "arguments": arguments}}})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := tools.Turn(response)
		if err != nil || len(turn.Calls) != 1 || string(turn.Calls[0].Arguments) != want {
			t.Errorf("%s: got %+v, error %v, want %s", arguments, turn, err, want)
		}
	}
}

func TestResponsesThatAreNone(t *testing.T) {
	t.Parallel()
	for api := range responses {
		tools, err := api.Tools(nil)
		if err != nil {
			t.Fatal(err)
		}
		for response, want := range map[string]string{
			``:                                      "found nothing, want the JSON body",
			`"x"`:                                   "want the JSON body",
			`{}`:                                    "it has no answer of a model",
			`{`:                                     "read response",
			`{"error":{"message":"no money left"}}`: "the API answered with an error: no money left",
		} {
			if turn, err := tools.Turn(jsontext.Value(response)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), api.String()) {
				t.Errorf("%s: %s: got %+v, error %v, want %q", api, response, turn, err, want)
			}
		}
	}
}

func TestResultsAreConverted(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-13")
	call := mcpmodel.Call{ID: "c", Name: "n"}
	media := &mcp.CallToolResult{Content: mcp.Contents{
		mcp.Text("T"), mcp.Image(png, "image/png"), mcp.Audio([]byte("a"), "audio/wav"),
		mcp.Link("file:///a", "a"), mcp.Embed(mcp.ResourceContents{URI: "file:///b", Text: "B"}),
		mcp.Embed(mcp.ResourceContents{URI: "file:///c", MIMEType: "application/pdf", Blob: []byte("%PDF-")}),
		mcp.UnknownContent{Type: "hologram", Raw: jsontext.Value(`{}`)},
	}}
	tests := []struct {
		name   string
		result mcpmodel.Result
		want   map[*mcpmodel.API]string
	}{
		{"error of the tool", call.Result(&mcp.CallToolResult{Content: mcp.Contents{mcp.Text("no")}, IsError: true}, nil), map[*mcpmodel.API]string{
			mcpmodel.Anthropic:       `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"no"}],"is_error":true}]}`,
			mcpmodel.OpenAIChat:      `{"role":"tool","content":"Error: no","tool_call_id":"c"}`,
			mcpmodel.OpenAIResponses: `{"type":"function_call_output","call_id":"c","output":"Error: no"}`,
			mcpmodel.Gemini:          `{"role":"user","parts":[{"functionResponse":{"id":"c","name":"n","response":{"error":"no"}}}]}`,
		}},
		{"structured", call.Result(&mcp.CallToolResult{Content: mcp.Contents{mcp.Text(`{"b": 1, "a": 2}`)}, StructuredContent: jsontext.Value(`{"a":2,"b":1}`)}, nil), map[*mcpmodel.API]string{
			mcpmodel.OpenAIChat: `{"role":"tool","content":"{\"b\": 1, \"a\": 2}","tool_call_id":"c"}`,
			mcpmodel.Gemini:     `{"role":"user","parts":[{"functionResponse":{"id":"c","name":"n","response":{"output":{"b":1,"a":2}}}}]}`,
		}},
		{"structured beside a text", call.Result(&mcp.CallToolResult{Content: mcp.Contents{mcp.Text(`two`)}, StructuredContent: jsontext.Value(`{"a":2}`)}, nil), map[*mcpmodel.API]string{
			mcpmodel.OpenAIChat: `{"role":"tool","content":"two\n{\"a\":2}","tool_call_id":"c"}`,
		}},
		{"empty", call.Result(&mcp.CallToolResult{}, nil), map[*mcpmodel.API]string{
			mcpmodel.OpenAIChat: `{"role":"tool","content":"[no content]","tool_call_id":"c"}`,
		}},
		{"none", call.Result(nil, nil), map[*mcpmodel.API]string{
			mcpmodel.OpenAIChat: `{"role":"tool","content":"Error: the tool returned no result","tool_call_id":"c"}`,
		}},
		{"media", call.Result(media, nil), map[*mcpmodel.API]string{
			mcpmodel.Anthropic: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"T"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},` +
				`{"type":"text","text":"[audio clip of type \"audio/wav\", 1 bytes, is not shown: the model cannot take it here]"},{"type":"text","text":"[resource link file:///a: a]"},{"type":"text","text":"[resource file:///b]\nB"},` +
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}},{"type":"text","text":"[content of the unknown type \"hologram\" is not shown]"}]}]}`,
			mcpmodel.OpenAIChat: `{"role":"tool","content":"T\n[image of type \"image/png\", 8 bytes, is not shown: the model cannot take it here]\n[audio clip of type \"audio/wav\", 1 bytes, is not shown: the model cannot take it here]\n` +
				`[resource link file:///a: a]\n[resource file:///b]\nB\n[resource file:///c of type \"application/pdf\", 5 bytes, is not shown: the model cannot take it here]\n[content of the unknown type \"hologram\" is not shown]","tool_call_id":"c"}`,
			mcpmodel.OpenAIResponses: `{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"T"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="},` +
				`{"type":"input_text","text":"[audio clip of type \"audio/wav\", 1 bytes, is not shown: the model cannot take it here]"},{"type":"input_text","text":"[resource link file:///a: a]"},{"type":"input_text","text":"[resource file:///b]\nB"},` +
				`{"type":"input_file","filename":"file.pdf","file_data":"data:application/pdf;base64,JVBERi0="},{"type":"input_text","text":"[content of the unknown type \"hologram\" is not shown]"}]}`,
			mcpmodel.Gemini: `{"role":"user","parts":[{"functionResponse":{"id":"c","name":"n","response":{"output":"T\n[audio clip of type \"audio/wav\", 1 bytes, is not shown: the model cannot take it here]\n[resource link file:///a: a]\n[resource file:///b]\nB\n` +
				`[content of the unknown type \"hologram\" is not shown]"},"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}}]}}]}`,
		}},
	}
	for _, tt := range tests {
		for api, want := range tt.want {
			got := api.Results(tt.result)
			if len(got) != 1 || string(got[0]) != want {
				t.Errorf("%s: %s: got  %s\nwant %s", tt.name, api, got, want)
			}
		}
	}
}

func TestTextAndMediaOverALimitAreLeftOut(t *testing.T) {
	t.Parallel()
	api := mcpmodel.OpenAIChat.With(mcpmodel.Options{MaxText: 5})
	result := &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("abcé"), mcp.Text("efgh")}}
	if got, want := string(api.Results(mcpmodel.Call{}.Result(result, nil))[0]), `{"role":"tool","content":"abcé\n[4 more bytes of text are not shown]"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	api = mcpmodel.OpenAIChat.With(mcpmodel.Options{MaxText: 4})
	if got, want := string(api.Results(mcpmodel.Call{}.Result(result, nil))[0]), `{"role":"tool","content":"abc\ne\n[5 more bytes of text are not shown]"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	api = mcpmodel.OpenAIChat.With(mcpmodel.Options{MaxText: -1})
	if got, want := string(api.Results(mcpmodel.Call{}.Result(result, nil))[0]), `{"role":"tool","content":"abcé\nefgh"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	large := mcp.Image(make([]byte, 5<<20+1), "image/png")
	if got := string(mcpmodel.Anthropic.User(large)); !strings.Contains(got, "it has 5242881 bytes, and the model takes at most 5242880") {
		t.Errorf("got %.200s, want a text that says why", got)
	}
}

func TestMessagesOfAUser(t *testing.T) {
	t.Parallel()
	for api, want := range map[*mcpmodel.API]string{
		mcpmodel.Anthropic:       `{"role":"user","content":[{"type":"text","text":"T"},{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"iVBORw0KGgo="}},{"type":"text","text":"[audio clip of type \"audio/mp3\", 1 bytes, is not shown: the model cannot take it here]"}]}`,
		mcpmodel.OpenAIChat:      `{"role":"user","content":[{"type":"text","text":"T"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,iVBORw0KGgo="}},{"type":"input_audio","input_audio":{"data":"YQ==","format":"mp3"}}]}`,
		mcpmodel.OpenAIResponses: `{"type":"message","role":"user","content":[{"type":"input_text","text":"T"},{"type":"input_image","image_url":"data:image/jpeg;base64,iVBORw0KGgo="},{"type":"input_text","text":"[audio clip of type \"audio/mp3\", 1 bytes, is not shown: the model cannot take it here]"}]}`,
		mcpmodel.Gemini:          `{"role":"user","parts":[{"text":"T"},{"inlineData":{"mimeType":"image/jpeg","data":"iVBORw0KGgo="}},{"inlineData":{"mimeType":"audio/mpeg","data":"YQ=="}}]}`,
	} {
		if got := string(api.User(mcp.Text("T"), mcp.Image(png, "image/jpg"), mcp.Audio([]byte("a"), "audio/mp3"))); got != want {
			t.Errorf("%s: got  %s\nwant %s", api, got, want)
		}
	}
	prompt := &mcp.GetPromptResult{Messages: []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.Text("Q")}, {Role: mcp.RoleAssistant, Content: mcp.Text("A")},
	}}
	if got, want := fmt.Sprintf("%s", mcpmodel.OpenAIResponses.Prompt(prompt)), `[{"type":"message","role":"user","content":[{"type":"input_text","text":"Q"}]} {"type":"message","role":"assistant","content":[{"type":"output_text","text":"A"}]}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A Group's names fit every API.
func TestQualifiedNamesFitEveryAPI(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"read", "files.read", strings.Repeat("x", 128)} {
		for api := range responses {
			if _, err := api.Tools([]mcp.Tool{tool(mcp.QualifiedName("files", name), `{"type":"object"}`)}); err != nil {
				t.Error(err)
			}
		}
	}
}
