package mcpmodel_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"log"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpmodel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// weather is a client of a server with one tool.
func weather(ctx context.Context) (*mcpclient.Client, []mcp.Tool) {
	server := mcpserver.New("weather", "1", nil)
	server.Tool("forecast", "Weather of a city", func(_ context.Context, in struct {
		City string `json:"city"`
	},
	) (string, error) {
		return "Sun in " + in.City, nil
	})
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), nil)
	if err != nil {
		log.Fatal(err)
	}
	var tools []mcp.Tool
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		tools = append(tools, tool)
	}
	return client, tools
}

// answer runs an agent loop. The function post sends a request to the API and returns the
// body of its response; members is what the API calls the messages.
func answer(ctx context.Context, api *mcpmodel.API, members string, question string, post func(request []byte) jsontext.Value) (string, error) {
	client, list := weather(ctx)
	defer client.Close()
	tools, err := api.Tools(list)
	if err != nil {
		log.Print(err) // the API cannot take some tools; go on with the others
	}
	messages := []jsontext.Value{api.User(mcp.Text(question))}
	for range 10 {
		request, err := json.Marshal(map[string]any{"model": "a-model", "tools": tools, members: messages})
		if err != nil {
			return "", err
		}
		turn, err := tools.Turn(post(request))
		if err != nil {
			return "", err
		}
		if len(turn.Calls) == 0 {
			return turn.Text, nil
		}
		messages = append(messages, turn.Messages...)
		var results []mcpmodel.Result
		for _, call := range turn.Calls {
			result, err := client.CallTool(ctx, call.Name, call.Arguments)
			results = append(results, call.Result(result, err))
		}
		messages = append(messages, api.Results(results...)...)
	}
	return "", fmt.Errorf("no answer after 10 turns")
}

// replay returns a post function that answers with fixed responses and prints the last
// message of each request.
func replay(members string, responses ...string) func([]byte) jsontext.Value {
	return func(request []byte) jsontext.Value {
		var body map[string]jsontext.Value
		var messages []jsontext.Value
		_ = json.Unmarshal(request, &body)
		_ = json.Unmarshal(body[members], &messages)
		fmt.Println(messages[len(messages)-1])
		response := responses[0]
		responses = responses[1:]
		return jsontext.Value(response)
	}
}

func Example_anthropic() {
	text, err := answer(context.Background(), mcpmodel.Anthropic, "messages", "Weather in Turin?", replay("messages",
		`{"content":[{"type":"tool_use","id":"t1","name":"forecast","input":{"city":"Turin"}}],"stop_reason":"tool_use"}`,
		`{"content":[{"type":"text","text":"It is sunny."}],"stop_reason":"end_turn"}`,
	))
	fmt.Println(text, err)
	// Output:
	// {"role":"user","content":[{"type":"text","text":"Weather in Turin?"}]}
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"Sun in Turin"}]}]}
	// It is sunny. <nil>
}

func Example_openAIChat() {
	text, err := answer(context.Background(), mcpmodel.OpenAIChat, "messages", "Weather in Turin?", replay("messages",
		`{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"forecast","arguments":"{\"city\":\"Turin\"}"}}]}}]}`,
		`{"choices":[{"message":{"role":"assistant","content":"It is sunny."}}]}`,
	))
	fmt.Println(text, err)
	// Output:
	// {"role":"user","content":[{"type":"text","text":"Weather in Turin?"}]}
	// {"role":"tool","content":"Sun in Turin","tool_call_id":"t1"}
	// It is sunny. <nil>
}

func Example_openAIResponses() {
	text, err := answer(context.Background(), mcpmodel.OpenAIResponses, "input", "Weather in Turin?", replay("input",
		`{"output":[{"type":"function_call","call_id":"t1","name":"forecast","arguments":"{\"city\":\"Turin\"}"}],"status":"completed"}`,
		`{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"It is sunny."}]}],"status":"completed"}`,
	))
	fmt.Println(text, err)
	// Output:
	// {"type":"message","role":"user","content":[{"type":"input_text","text":"Weather in Turin?"}]}
	// {"type":"function_call_output","call_id":"t1","output":"Sun in Turin"}
	// It is sunny. <nil>
}

func Example_gemini() {
	text, err := answer(context.Background(), mcpmodel.Gemini, "contents", "Weather in Turin?", replay("contents",
		`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"forecast","args":{"city":"Turin"}}}]},"finishReason":"STOP"}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"It is sunny."}]},"finishReason":"STOP"}]}`,
	))
	fmt.Println(text, err)
	// Output:
	// {"role":"user","parts":[{"text":"Weather in Turin?"}]}
	// {"role":"user","parts":[{"functionResponse":{"name":"forecast","response":{"output":"Sun in Turin"}}}]}
	// It is sunny. <nil>
}

// A client that answers the sampling requests of servers with a model.
func ExampleAPI_SamplingRequest() {
	post := func(context.Context, jsontext.Value) (jsontext.Value, error) { // sends the request to the API
		return jsontext.Value(`{"model":"a-model","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn"}`), nil
	}
	options := &mcpclient.Options{
		Sample: func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			request, err := mcpmodel.Anthropic.SamplingRequest("a-model", p)
			if err != nil {
				return nil, err
			}
			response, err := post(ctx, request)
			if err != nil {
				return nil, err
			}
			return mcpmodel.Anthropic.SamplingResult(response)
		},
	}
	result, err := options.Sample(context.Background(), &mcp.CreateMessageParams{
		MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Hi")}}},
	})
	fmt.Println(result.Content.Text(), result.StopReason, err)
	// Output: Hello endTurn <nil>
}

func ExampleAPI_LowerSchema() {
	text, err := mcpmodel.Gemini.LowerSchema(jsontext.Value(`{
		"type": "object",
		"properties": {"day": {"$ref": "#/$defs/day"}},
		"$defs": {"day": {"oneOf": [{"type": "string", "format": "date"}, {"const": "today"}]}}
	}`))
	fmt.Println(text, err)
	// Output: {"type":"object","properties":{"day":{"anyOf":[{"type":"string","format":"date"},{"type":"string","enum":["today"]}]}}} <nil>
}

// A test of a server lists its tools and fails with the findings.
func ExampleLint() {
	tools := []mcp.Tool{{Name: "files.read", InputSchema: jsontext.Value(`{"type":"object"}`)}}
	for _, f := range mcpmodel.Lint(tools, mcpmodel.OpenAIResponses) {
		fmt.Println(f.Tool, f.Place, f.Refused)
	}
	// Output: files.read /name true
}

// A server whose tools the API of OpenAI takes as they are. Tool and AddTool panic with the error.
func ExampleCheckTool() {
	server := mcpserver.New("files", "1.0.0", &mcpserver.Options{
		CheckTool: mcpmodel.CheckTool(mcpmodel.OpenAIResponses),
	})
	err := server.ReplaceTool("files.read", "Reads a file", func(context.Context, struct{}) (string, error) { return "", nil })
	fmt.Println(err)
	// Output: tool "files.read": option CheckTool: /name: the API refuses the name, want 1 to 64 of a-z, A-Z, 0-9, '_' and '-'; mcp.QualifiedName and mcpclient.Group make such names: refused by OpenAI Responses
}
