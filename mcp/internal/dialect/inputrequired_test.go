package dialect_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
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
			var got mcp.InputRequiredResult
			if gotErr == nil {
				got = asResult(t, outcome.InputRequired)
			}
			want := mcp.InputRequiredResult{InputRequests: required.InputRequests, RequestState: required.RequestState}
			if len(want.InputRequests) == 0 {
				want.InputRequests = nil
			}
			same("result", got, gotErr, want, wantErr)
		}
		var responses mcp.InputResponseParams
		wantErr = json.Unmarshal(raw, &responses)
		call, _ := server.Open(jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.NumberID(1), Method: mcp.MethodToolsCall, Params: raw}, dialect.TransportInfo{})
		p := call.CallParams()
		state, gotErr := call.RequestState(p)
		if p.RequestState == nil { // the handler decodes the answers itself
			return
		}
		var in mcp.InputResponseParams
		if state != nil {
			in.RequestState = new(string(state))
		}
		if p.InputResponses.Kind() == '{' {
			in.InputResponses = make(map[string]jsontext.Value)
		}
		for key, answer := range rawjson.Members(p.InputResponses) {
			in.InputResponses[string(key)] = answer
		}
		same("responses", in, gotErr, responses, wantErr)
	})
}

// asResult returns the questions and the state of a result.
func asResult(t *testing.T, in *dialect.InputRequired) (r mcp.InputRequiredResult) {
	t.Helper()
	if !slices.IsSortedFunc(in.Questions, func(a, b dialect.KeyedQuestion) int { return strings.Compare(a.Key, b.Key) }) {
		t.Errorf("got questions %v, want them in the order of their keys", in.Questions)
	}
	for _, q := range in.Questions {
		if r.InputRequests == nil {
			r.InputRequests = make(map[string]mcp.InputRequest)
		}
		r.InputRequests[q.Key] = q.InputRequest
	}
	if in.State != nil {
		if err := json.Unmarshal(in.State, &r.RequestState); err != nil {
			t.Errorf("state %s: %v", in.State, err)
		}
	}
	return r
}

// responsesOf returns the members that a request has in its later rounds.
func responsesOf(t *testing.T, r *dialect.Request) []byte {
	t.Helper()
	m, err := jsonrpc.Decode(r.Encode(jsonrpc.NumberID(1)), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	members := decodeAny(t, m.Params).(map[string]any)
	delete(members, "_meta")
	got, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return got
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
			got = responsesOf(t, again)
		}
		same("request", got, err, in)

		if answer, err := client.InputResponse(result); err == nil {
			asked := &dialect.InputRequired{Questions: []dialect.KeyedQuestion{{Key: "a\n"}, {Key: "z"}}, State: jsontext.Value(`"s\n"`)}
			next, err := first.Next(asked, func(q dialect.KeyedQuestion) (any, error) {
				if q.Key == "z" {
					return nil, nil
				}
				return result, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			same("next round", responsesOf(t, next), nil, mcp.InputResponseParams{
				InputResponses: map[string]jsontext.Value{"a\n": answer, "z": jsontext.Value("{}")}, RequestState: new("s\n"),
			})
		}

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
