package dialect_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"reflect"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// FuzzReadingARound shows that the messages of a round that are read without reflection
// are what json/v2 reads, and that what it refuses is refused.
func FuzzReadingARound(f *testing.F) {
	for _, text := range []string{
		`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"m"}},"r":{"method":"roots/list"}},"requestState":"s\n"}`,
		`{"resultType":"input_required","inputRequests":{"q":{"method":7}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}`,
		`{"resultType":"input_required","inputRequests":{"q":{"method":"x","more":1}},"requestState":null,"_meta":{"a":1}}`,
		`{"resultType":"input_required","inputRequests":null,"requestState":7}`,
		`{"mode":"form","message":"\u00e9 \"m\"","requestedSchema":{"type":"object"}}`,
		`{"mode":"url","message":"m","url":"https://x"}`, `{"message":null,"requestedSchema":null}`, `{"mode":7}`,
		`{"action":"accept","content":{"a":1}}`, `{"action":"decline"}`, `{"action":"other","content":null}`, `{"action":1}`, `{"action":"accept","_meta":{"a":1}}`,
		`{"name":"t","inputResponses":{"q":{"action":"cancel"}},"requestState":"s","arguments":{}}`,
		`{"inputResponses":7}`, `{"inputResponses":null,"requestState":null}`, `{"requestState":{}}`, `[]`, `null`, `"x"`,
	} {
		f.Add(text)
	}
	stateless := dialect.Newest(dialect.StatelessEra)
	client, err := dialect.NewClient(stateless, mcp.Implementation{Name: "c", Version: "1"}, mcp.ClientCapabilities{})
	if err != nil {
		f.Fatal(err)
	}
	server := dialect.NewServer(dialect.ServerParams{})
	f.Fuzz(func(t *testing.T, text string) {
		raw := jsontext.Value(text)
		if jsonrpc.CheckValue(raw, jsonrpc.Limits{}) != nil {
			return
		}
		same := func(what string, got any, gotErr error, want any, wantErr error) {
			t.Helper()
			if (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%s %s: got error %v, want %v", what, text, gotErr, wantErr)
			}
			if gotErr == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s %s:\n got %+v\nwant %+v", what, text, got, want)
			}
		}
		var result mcp.ElicitResult
		wantErr := json.Unmarshal(raw, &result)
		got, gotErr := dialect.DecodeElicitResult(raw)
		same("answer", got, gotErr, result, wantErr)

		q := mcp.InputRequest{Method: mcp.MethodElicit, Params: raw}
		want, wantErr := q.DecodeParams()
		params, gotErr := dialect.DecodeQuestion(q)
		same("question", params, gotErr, want, wantErr)

		if raw.Kind() != '{' {
			return
		}
		var required mcp.InputRequiredResult
		wantErr = json.Unmarshal(raw, &required)
		if required.ResultType == mcp.ResultInputRequired {
			outcome, gotErr := client.Result(mcp.MethodToolsCall, jsonrpc.Message{Kind: jsonrpc.Response, Result: raw})
			same("result", outcome.InputRequired, gotErr, &required, wantErr)
		}
		var responses mcp.InputResponseParams
		wantErr = json.Unmarshal(raw, &responses)
		call, _ := server.Open(jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.NumberID(1), Method: mcp.MethodToolsCall, Params: raw}, dialect.TransportInfo{})
		in, gotErr := call.InputResponses()
		same("responses", in, gotErr, responses, wantErr)
	})
}

// FuzzWritingARound shows that the messages of a round that are written without reflection
// say what json/v2 writes, and that what it refuses is refused.
func FuzzWritingARound(f *testing.F) {
	for _, text := range []string{"", "plain", "a\"b\\c\nd", "é漢😀", "\xff"} {
		for _, value := range []string{`{}`, `{"a":[1,"x"]}`, "{\n\"a\": 1}", `{"a":1,"a":2}`, `{`, ``, `null`} {
			f.Add(text, value)
		}
	}
	stateless := dialect.Newest(dialect.StatelessEra)
	client, err := dialect.NewClient(stateless, mcp.Implementation{Name: "c", Version: "1"}, mcp.ClientCapabilities{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		raw := jsontext.Value(value)
		if jsonrpc.CheckValue(raw, jsonrpc.Limits{}) != nil && raw.IsValid() {
			return // JSON, and beyond what is read as a message
		}
		same := func(what string, got []byte, gotErr error, v any) {
			t.Helper()
			want, wantErr := json.Marshal(v)
			switch {
			case (gotErr == nil) != (wantErr == nil):
				t.Errorf("%s: got error %v, want %v", what, gotErr, wantErr)
			case gotErr == nil && !reflect.DeepEqual(decodeAny(t, got), decodeAny(t, want)):
				t.Errorf("%s:\n got %s\nwant %s", what, got, want)
			}
		}
		result := &mcp.ElicitResult{Action: mcp.ElicitAction(text), Content: raw}
		got, err := client.InputResponse(result)
		same("answer", got, err, result)

		in := mcp.InputResponseParams{InputResponses: map[string]jsontext.Value{text: raw, "z": jsontext.Value("1")}, RequestState: &text}
		first, err := client.Request(dialect.RequestParams{Method: mcp.MethodToolsCall})
		if err != nil {
			t.Fatal(err)
		}
		again, err := first.Again(in)
		got = nil
		if err == nil {
			m, decodeErr := jsonrpc.Decode(again.Encode(jsonrpc.NumberID(1)), jsonrpc.Limits{})
			if decodeErr != nil {
				t.Fatal(decodeErr)
			}
			members := decodeAny(t, m.Params).(map[string]any)
			delete(members, "_meta")
			got, _ = json.Marshal(members)
		}
		same("request", got, err, in)

		server := dialect.NewServer(dialect.ServerParams{})
		call, _ := server.Open(jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.NumberID(1), Method: mcp.MethodToolsCall}, dialect.TransportInfo{})
		call.Facts, call.Capabilities = stateless, &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: new(mcp.Capability), URL: new(mcp.Capability)}}
		params := &mcp.ElicitParams{Mode: mcp.ElicitForm, Message: text, RequestedSchema: raw, URL: text}
		question, err := call.InputRequest(mcp.MethodElicit, params)
		same("question", question.Params, err, params)

		required := &mcp.InputRequiredResult{
			ResultBase:    mcp.ResultBase{ResultType: mcp.ResultInputRequired},
			InputRequests: map[string]mcp.InputRequest{text: {Method: text, Params: raw}, "z": {Method: "m"}},
			RequestState:  &text,
		}
		got = nil
		e, err := call.Encode(required)
		if err == nil {
			if got, err = jsonrpcDecode(call.Reply(e, nil).Body); err != nil {
				t.Fatal(err)
			}
			members := decodeAny(t, got).(map[string]any)
			delete(members, "_meta")
			got, _ = json.Marshal(members)
		}
		same("result", got, err, required)
	})
}
