package dialect_test

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// sealed returns the result part of what a caller of the revision gets.
func sealed(t *testing.T, s *dialect.Server, version string, result any) string {
	t.Helper()
	raw := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
	in := dialect.TransportInfo{}
	if version != "2026-07-28" {
		raw, in.Session = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, negotiate(t, s, version)
	}
	call, err := s.Open(decode(t, raw), in)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := call.Facts.Encode(result)
	if err != nil {
		t.Fatal(err)
	}
	reply := call.Reply(encoded, nil)
	m, err := jsonrpcDecode(reply.Body)
	if err != nil {
		t.Fatalf("sealed %s: %v", reply.Body, err)
	}
	return string(m)
}

func TestResultsHaveOnlyMembersOfTheRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-016", "R-033", "R-263a", "D-02a", "D-19", "D-21", "B-08")
	s := newServer()
	tools := &mcp.ListToolsResult{Tools: []mcp.Tool{{
		Name: "t", Title: "T", InputSchema: jsontext.Value(`{"type":"object"}`),
		OutputSchema: jsontext.Value(`{"type":"array"}`),
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: new(true)},
		Execution:    &mcp.ToolExecution{TaskSupport: mcp.TaskOptional},
		Icons:        []mcp.Icon{{Src: "data:,"}},
		Meta:         mcp.Meta{"io.modelcontextprotocol/x": jsontext.Value("1"), "com.example/y": jsontext.Value("2")},
	}}}
	const server = `"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}`
	for _, test := range []struct{ version, want string }{
		{"2024-11-05", `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`},
		{"2025-03-26", `{"tools":[{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`},
		{"2025-06-18", `{"tools":[{"name":"t","title":"T","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"com.example/y":2}}]}`},
		{"2025-11-25", `{"tools":[{"name":"t","title":"T","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"},"icons":[{"src":"data:,"}],"_meta":{"com.example/y":2}}]}`},
		{"2026-07-28", `{"resultType":"complete","_meta":{` + server + `},"ttlMs":0,"cacheScope":"private","tools":[{"name":"t","title":"T","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"annotations":{"readOnlyHint":true},"icons":[{"src":"data:,"}],"_meta":{"com.example/y":2}}]}`},
	} {
		if got := sealed(t, s, test.version, tools); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.version, got, test.want)
		}
	}
	if tools.Tools[0].Title != "T" || tools.TTLMs != nil {
		t.Error("the result of the handler was modified")
	}
}

func TestToolResultsAreConvertedToOlderRevisions(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-045a", "R-046a", "D-21")
	s := newServer()
	result := &mcp.CallToolResult{
		ResultBase: mcp.ResultBase{Meta: mcp.Meta{"com.example/k": jsontext.Value(`"v"`), "io.modelcontextprotocol/serverInfo": jsontext.Value(`"forged"`)}},
		Content: mcp.Contents{
			mcp.Audio([]byte("hi"), "audio/wav"),
			mcp.Link("notes://a", "A note"),
		},
		StructuredContent: jsontext.Value(`[1]`),
	}
	const server = `"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}`
	for _, test := range []struct{ version, want string }{
		{"2024-11-05", `{"_meta":{"com.example/k":"v"},"content":[{"type":"resource","resource":{"uri":"data:audio/wav;base64,aGk=","mimeType":"audio/wav","blob":"aGk="}},{"type":"text","text":"A note: notes://a"}]}`},
		{"2025-03-26", `{"_meta":{"com.example/k":"v"},"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"text","text":"A note: notes://a"}]}`},
		{"2025-06-18", `{"_meta":{"com.example/k":"v"},"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"resource_link","uri":"notes://a","name":"A note"}]}`},
		{"2026-07-28", `{"resultType":"complete","_meta":{` + server + `,"com.example/k":"v"},"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"resource_link","uri":"notes://a","name":"A note"}],"structuredContent":[1]}`},
	} {
		if got := sealed(t, s, test.version, result); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.version, got, test.want)
		}
	}
}

func TestErrorsHaveTheNumberOfTheRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-019a", "R-019b", "R-020", "R-021", "R-328a", "E-01")
	for _, test := range []struct {
		code            mcp.Code
		session, modern int64
	}{
		{mcp.CodeMethodNotFound, -32601, -32601},
		{mcp.CodeResourceNotFound, -32002, -32602},
		{mcp.CodeMissingCapability, -32603, -32021},
		{mcp.CodeRejected, -1, -32603},
		{mcp.CodeInsufficientScope, 403, 403},
		{mcp.CodeURLElicitationRequired, -32603, -32603},
	} {
		if got := dialect.Of(mcp.V20250618).Number(test.code); got != test.session {
			t.Errorf("%s in a session: got %d, want %d", test.code, got, test.session)
		}
		if got := dialect.Of(mcp.V20260728).Number(test.code); got != test.modern {
			t.Errorf("%s stateless: got %d, want %d", test.code, got, test.modern)
		}
	}
	for number := int64(-32099); number <= -32000; number++ {
		for _, f := range []*dialect.Facts{dialect.Of(mcp.V20260728), dialect.Of(mcp.V20241105)} {
			call := &dialect.Call{Facts: f}
			reply := call.Reply(nil, &mcp.Error{Code: mcp.CodeOther, Number: number, Message: "x"})
			m, err := jsonrpcError(reply.Body)
			if err != nil || m != -32603 {
				t.Fatalf("an application's error %d: got %d, %v, want -32603: the range is not its own", number, m, err)
			}
		}
	}
}

func TestSamplingOfOneBlockIsNoList(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-323")
	for _, v := range []mcp.Revision{mcp.V20241105, mcp.V20251125} {
		params := &mcp.CreateMessageParams{MaxTokens: 5, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("hi")}}}}
		call := &dialect.Call{Facts: dialect.Of(v), Capabilities: &mcp.ClientCapabilities{Sampling: new(mcp.SamplingCapability)}}
		q, err := call.Question(mcp.MethodCreateMessage, params)
		if err != nil {
			t.Fatal(err)
		}
		got := string(q.Encode(numberID(1)))
		want := `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}}`
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", v, got, want)
		}
	}
}

func TestQuestionsNeedADeclaredCapability(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-032", "R-293", "R-318a", "R-320a", "R-333a")
	form, url := &mcp.ElicitParams{Message: "?"}, &mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://example.com"}
	tools := &mcp.CreateMessageParams{Tools: []mcp.Tool{{}}}
	none, both := mcp.ClientCapabilities{}, mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: new(mcp.Capability), URL: new(mcp.Capability)},
		Sampling:    &mcp.SamplingCapability{Tools: new(mcp.Capability)}, Roots: new(mcp.RootsCapability),
	}
	formOnly := mcp.ClientCapabilities{Elicitation: new(mcp.ElicitationCapability), Sampling: new(mcp.SamplingCapability)}
	for _, test := range []struct {
		name   string
		method string
		params any
		has    mcp.ClientCapabilities
		want   string
	}{
		{"roots", mcp.MethodRootsList, nil, none, `{"requiredCapabilities":{"roots":{}}}`},
		{"sampling", mcp.MethodCreateMessage, &mcp.CreateMessageParams{}, none, `{"requiredCapabilities":{"sampling":{}}}`},
		{"sampling with tools", mcp.MethodCreateMessage, tools, formOnly, `{"requiredCapabilities":{"sampling":{"tools":{}}}}`},
		{"a form", mcp.MethodElicit, form, none, `{"requiredCapabilities":{"elicitation":{}}}`},
		{"a visit", mcp.MethodElicit, url, formOnly, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`},
		{"a form, declared by an empty object", mcp.MethodElicit, form, formOnly, ""},
		{"a visit, declared", mcp.MethodElicit, url, both, ""},
		{"tools, declared", mcp.MethodCreateMessage, tools, both, ""},
	} {
		call := &dialect.Call{Facts: dialect.Of(mcp.V20251125), Capabilities: &test.has}
		_, err := call.Question(test.method, test.params)
		var got string
		if e, ok := err.(*mcp.Error); ok {
			got = string(e.Data)
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
