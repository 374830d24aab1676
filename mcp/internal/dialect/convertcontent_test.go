package dialect_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Every kind of content in every revision: its JSON on the wire, oldest
// revision first. The last one given also holds for all later revisions.
func TestContentInEveryRevision(t *testing.T) {
	t.Parallel()
	linked := mcp.Link("a://1", "one")
	linked.Title, linked.Icons = "One", []mcp.Icon{{Src: "data:,"}}
	for name, test := range map[string]struct {
		content mcp.Content
		wire    []string
	}{
		"text":  {mcp.Text("t"), []string{`{"type":"text","text":"t"}`}},
		"image": {mcp.Image([]byte("hi"), "image/png"), []string{`{"type":"image","data":"aGk=","mimeType":"image/png"}`}},
		"audio": {mcp.Audio([]byte("hi"), "audio/wav"), []string{
			`{"type":"resource","resource":{"uri":"data:audio/wav;base64,aGk=","mimeType":"audio/wav","blob":"aGk="}}`,
			`{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`,
		}},
		"link": {linked, []string{
			`{"type":"text","text":"One: a://1"}`,
			`{"type":"text","text":"One: a://1"}`,
			`{"type":"resource_link","uri":"a://1","name":"one","title":"One"}`,
			`{"type":"resource_link","uri":"a://1","name":"one","title":"One","icons":[{"src":"data:,"}]}`,
		}},
		"resource": {mcp.EmbeddedResource{
			Resource:    mcp.ResourceContents{URI: "a://1", Text: "t", Meta: mcp.Meta{"k": jsontext.Value("1")}},
			Annotations: &mcp.Annotations{Priority: new(0.5), LastModified: "2025-01-01T00:00:00Z"},
		}, []string{
			`{"type":"resource","resource":{"uri":"a://1","text":"t"},"annotations":{"priority":0.5}}`,
			`{"type":"resource","resource":{"uri":"a://1","text":"t"},"annotations":{"priority":0.5}}`,
			`{"type":"resource","resource":{"uri":"a://1","text":"t","_meta":{"k":1}},"annotations":{"priority":0.5,"lastModified":"2025-01-01T00:00:00Z"}}`,
		}},
		"metadata": {mcp.TextContent{Text: "t", Meta: mcp.Meta{"k": jsontext.Value("1"), "io.modelcontextprotocol/x": jsontext.Value("1"), "not a key": jsontext.Value("1")}}, []string{
			`{"type":"text","text":"t"}`,
			`{"type":"text","text":"t"}`,
			`{"type":"text","text":"t","_meta":{"k":1}}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, v := range mcp.Revisions() {
				want := test.wire[min(i, len(test.wire)-1)]
				tool := resultFor(t, v, &mcp.CallToolResult{Content: mcp.Contents{test.content}})
				prompt := resultFor(t, v, &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: test.content}}})
				if !strings.HasSuffix(tool, `"content":[`+want+`]}`) {
					t.Errorf("%s, tool\ngot  %s\nwant %s in it", v, tool, want)
				}
				if !strings.HasSuffix(prompt, `"messages":[{"role":"user","content":`+want+`}]}`) {
					t.Errorf("%s, prompt\ngot  %s\nwant %s in it", v, prompt, want)
				}
				// A newer client also reads the older shape.
				var up mcp.CallToolResult
				if err := json.Unmarshal([]byte(tool), &up); err != nil {
					t.Errorf("%s: a client cannot read %s: %v", v, tool, err)
				} else if _, unknown := up.Content[0].(mcp.UnknownContent); unknown {
					t.Errorf("%s: a client does not know %s", v, tool)
				}
			}
		})
	}
}

// resultFor returns the result that a client of the revision gets.
func resultFor(t testing.TB, v mcp.Revision, result any) string {
	t.Helper()
	encoded, err := dialect.Of(v).Encode(result)
	if err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	s := newServer()
	call := openedCall(t, s, v)
	raw, err := jsonrpcDecode(call.Reply(encoded, nil).Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func openedCall(t testing.TB, s *dialect.Server, v mcp.Revision) *dialect.Call {
	t.Helper()
	raw, in := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, dialect.TransportInfo{}
	if v != mcp.V20260728 {
		raw = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		in.Session = &dialect.Session{Facts: dialect.Of(v)}
	}
	call, err := s.Open(decode(t, raw), in)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

// A tool with an output schema must return structured content, so there must be
// both or neither.
func TestOutputSchemaAndStructuredContentGoTogether(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schema, value string
		since         int // index of the first revision that has them
	}{
		"an object":            {`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1}`, 2},
		"a list":               {`{"type":"array"}`, `[1]`, 4},
		"a text":               {`{"type":"string"}`, `"x"`, 4},
		"null":                 {`{"type":"null"}`, `null`, 4},
		"an object or nothing": {`{"type":["object","null"]}`, `null`, 4},
		"no type":              {`{"anyOf":[{"type":"object"},{"type":"string"}]}`, `"x"`, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, v := range mcp.Revisions() {
				list := resultFor(t, v, &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "t", InputSchema: jsontext.Value(`{"type":"object"}`), OutputSchema: jsontext.Value(test.schema)}}})
				result := resultFor(t, v, &mcp.CallToolResult{StructuredContent: jsontext.Value(test.value)})
				promised, kept := strings.Contains(list, "outputSchema"), strings.Contains(result, "structuredContent")
				if want := i >= test.since; promised != want || kept != want {
					t.Errorf("%s: schema %v, content %v, want %v", v, promised, kept, want)
				}
				if text := fmt.Sprintf(`"content":[{"type":"text","text":%q}]`, test.value); !kept && !strings.Contains(result, text) {
					t.Errorf("%s: got %s, want %s in it", v, result, text)
				}
			}
		})
	}
}

// Older clients refuse a whole list if one property's schema is true.
func TestPropertiesAreObjectsInOlderRevisions(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","$defs":{"properties":{"x":true}},"properties":{"a":true,"b":{"type":"string"},"c":false},"required":["a"]}`
	const plain = `{"type":"object","$defs":{"properties":{"x":true}},"properties":{"a":{},"b":{"type":"string"},"c":{"not":{}}},"required":["a"]}`
	for i, v := range mcp.Revisions() {
		got := resultFor(t, v, &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "t", InputSchema: jsontext.Value(schema), OutputSchema: jsontext.Value(schema)}}})
		want := plain
		if i == 4 {
			want = schema
		}
		if !strings.Contains(got, `"inputSchema":`+want) || i >= 2 && !strings.Contains(got, `"outputSchema":`+want) {
			t.Errorf("%s: got %s, want %s in it", v, got, want)
		}
	}
}

// Listed definitions except tools, and the results that list them.
func TestListedThingsInEveryRevision(t *testing.T) {
	t.Parallel()
	icons, meta := []mcp.Icon{{Src: "data:,"}}, mcp.Meta{"k": jsontext.Value("1")}
	for name, test := range map[string]struct {
		result any
		wire   []string // oldest first
	}{
		"a resource": {
			&mcp.ListResourcesResult{Resources: []mcp.Resource{{URI: "u", Name: "n", Title: "T", Icons: icons, Meta: meta}}},
			[]string{`[{"uri":"u","name":"n"}]`, `[{"uri":"u","name":"n"}]`, `[{"uri":"u","name":"n","title":"T","_meta":{"k":1}}]`, `[{"uri":"u","name":"n","title":"T","icons":[{"src":"data:,"}],"_meta":{"k":1}}]`},
		},
		"a template": {
			&mcp.ListResourceTemplatesResult{ResourceTemplates: []mcp.ResourceTemplate{{URITemplate: "u{x}", Name: "n", Title: "T", Icons: icons, Meta: meta}}},
			[]string{`[{"uriTemplate":"u{x}","name":"n"}]`, `[{"uriTemplate":"u{x}","name":"n"}]`, `[{"uriTemplate":"u{x}","name":"n","title":"T","_meta":{"k":1}}]`, `[{"uriTemplate":"u{x}","name":"n","title":"T","icons":[{"src":"data:,"}],"_meta":{"k":1}}]`},
		},
		"a prompt": {
			&mcp.ListPromptsResult{Prompts: []mcp.Prompt{{Name: "n", Title: "T", Icons: icons, Meta: meta, Arguments: []mcp.PromptArgument{{Name: "a", Title: "A"}}}}},
			[]string{`[{"name":"n","arguments":[{"name":"a"}]}]`, `[{"name":"n","arguments":[{"name":"a"}]}]`, `[{"name":"n","title":"T","arguments":[{"name":"a","title":"A"}],"_meta":{"k":1}}]`, `[{"name":"n","title":"T","arguments":[{"name":"a","title":"A"}],"icons":[{"src":"data:,"}],"_meta":{"k":1}}]`},
		},
		"a server": {
			&mcp.InitializeResult{ServerInfo: mcp.Implementation{Name: "n", Version: "1", Title: "T", Description: "D", WebsiteURL: "https://example.com", Icons: icons}},
			[]string{`{"name":"n","version":"1"}`, `{"name":"n","version":"1"}`, `{"name":"n","title":"T","version":"1"}`, `"icons":[{"src":"data:,"}]`},
		},
	} {
		for i, v := range mcp.Revisions() {
			if got, want := resultFor(t, v, test.result), test.wire[min(i, 3)]; !strings.Contains(got, want) {
				t.Errorf("%s in %s\ngot  %s\nwant %s in it", name, v, got, want)
			}
		}
	}
}

func TestSamplingInEveryRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-320a")
	use := mcp.ToolUseContent{ID: "1", Name: "n", Input: jsontext.Value(`{}`), Meta: mcp.Meta{"k": jsontext.Value("1")}}
	output := mcp.ToolResultContent{ToolUseID: "1", Content: mcp.Contents{mcp.Text("t")}, StructuredContent: jsontext.Value(`[1]`)}
	const refused = ""
	for name, test := range map[string]struct {
		params mcp.CreateMessageParams
		wire   []string // of the content or tools, oldest first
	}{
		"one text": {said(mcp.Text("a")), []string{`"content":{"type":"text","text":"a"}`}},
		"texts": {said(mcp.Text("a"), mcp.Text("b")), []string{
			`"content":{"type":"text","text":"a\nb"}`, `"content":{"type":"text","text":"a\nb"}`, `"content":{"type":"text","text":"a\nb"}`,
			`"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`,
		}},
		"an image": {said(mcp.Image([]byte("hi"), "image/png")), []string{`"content":{"type":"image","data":"aGk=","mimeType":"image/png"}`}},
		"audio":    {said(mcp.Audio([]byte("hi"), "audio/wav")), []string{refused, `"content":{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`}},
		"text and image": {said(mcp.Text("a"), mcp.Image([]byte("hi"), "image/png")), []string{
			refused, refused, refused, `"content":[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"}]`,
		}},
		"the use of a tool": {said(use), []string{refused, refused, refused, `"content":{"type":"tool_use","id":"1","name":"n","input":{},"_meta":{"k":1}}`}},
		"the output of a tool": {said(output), []string{
			refused, refused, refused,
			`"content":{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"t"}]}`,
			`"content":{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"t"}],"structuredContent":[1]}`,
		}},
		"tools": {
			mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{}, Tools: []mcp.Tool{{Name: "n", InputSchema: jsontext.Value(`{"type":"object"}`), OutputSchema: jsontext.Value(`{"type":"array"}`)}}},
			[]string{
				refused, refused, refused,
				`"tools":[{"name":"n","inputSchema":{"type":"object"}}]`,
				`"tools":[{"name":"n","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}]`,
			},
		},
		"the choice of a tool": {mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{}, ToolChoice: new(mcp.ToolChoice)}, []string{refused, refused, refused, `"toolChoice":{}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, v := range mcp.Revisions() {
				want := test.wire[min(i, len(test.wire)-1)]
				if want == refused {
					if _, err := asking(v).Question(mcp.MethodCreateMessage, &test.params); mcp.CodeOf(err) != mcp.CodeMissingCapability {
						t.Errorf("%s: got %v, want that it cannot be asked", v, err)
					}
					continue
				}
				_, got := put(t, v, mcp.MethodCreateMessage, &test.params)
				if !strings.Contains(string(got), want) {
					t.Errorf("%s\ngot  %s\nwant %s in it", v, got, want)
				}
				var up mcp.CreateMessageParams
				if err := json.Unmarshal(got, &up); err != nil {
					t.Errorf("%s: a client cannot read %s: %v", v, got, err)
				}
			}
		})
	}
}

func said(cs ...mcp.Content) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: 1, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: cs}}}
}

// A model's message goes from client to server and follows the same rules.
func TestMessagesOfTheModelInEveryRevision(t *testing.T) {
	t.Parallel()
	result := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("a"), mcp.Text("b")}}
	for i, v := range mcp.Revisions() {
		c := &dialect.Client{Facts: dialect.Of(v)}
		want := `{"role":"assistant","content":{"type":"text","text":"a\nb"},"model":"m"}`
		if i >= 3 {
			want = `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"model":"m"}`
		}
		if got, err := c.InputResponse(result); err != nil || string(got) != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", v, got, err, want)
		}
		mixed := &mcp.CreateMessageResult{Content: mcp.Contents{mcp.Text("a"), mcp.Audio(nil, "audio/wav")}}
		if _, err := c.InputResponse(mixed); (err == nil) != (i >= 3) {
			t.Errorf("%s: text and audio: got %v", v, err)
		}
	}
}

// known are the kinds of content in the result of a tool, oldest revision first.
var known = []string{"text image resource", "text image resource audio", "text image resource audio resource_link"}

// The result of a handler can be sent in every revision, with content kinds
// that it has.
func FuzzContentInEveryRevision(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav","annotations":{"lastModified":"x"},"_meta":{"a b":1}}]}`,
		`{"content":[{"type":"resource_link","uri":"a://1","name":"n","icons":[{"src":"data:,"}]}],"structuredContent":[null]}`,
		`{"content":[{"type":"resource","resource":{"uri":"u","blob":"aGk="}},{"type":"image","data":"","mimeType":"x"}],"structuredContent":{}}`,
		`{"content":[],"isError":true,"structuredContent":"x","_meta":{"io.modelcontextprotocol/x":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var result mcp.CallToolResult
		if json.Unmarshal(data, &result) != nil {
			return
		}
		for _, c := range result.Content {
			switch c.(type) {
			case mcp.UnknownContent, mcp.ToolUseContent, mcp.ToolResultContent:
				return // not for the result of a tool
			}
		}
		if _, err := json.Marshal(&result); err != nil {
			return
		}
		for i, v := range mcp.Revisions() {
			encoded, err := dialect.Of(v).Encode(&result)
			if err != nil {
				t.Fatalf("%s: %v", v, err)
			}
			raw, err := jsonrpcDecode(openedCall(t, newServer(), v).Reply(encoded, nil).Body)
			if err != nil {
				t.Fatalf("%s: %v", v, err)
			}
			var wire struct {
				Content []struct {
					Type string `json:"type"`
				} `json:"content"`
				Structured jsontext.Value `json:"structuredContent"`
			}
			if err := json.Unmarshal(raw, &wire); err != nil {
				t.Fatalf("%s: %s: %v", v, raw, err)
			}
			for _, c := range wire.Content {
				if !strings.Contains(known[min(i, len(known)-1)], c.Type) {
					t.Errorf("%s: got content of type %q", v, c.Type)
				}
			}
			if wire.Structured != nil && (i < 2 || i < 4 && wire.Structured.Kind() != '{') {
				t.Errorf("%s: got structured content %s", v, wire.Structured)
			}
		}
	})
}

func TestSamplingMessagesWithToolsAreChecked(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-322", "R-323", "R-328b", "R-330b")
	user := func(cs ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: mcp.RoleUser, Content: cs}
	}
	model := func(cs ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: cs}
	}
	use := func(id string) mcp.Content {
		return mcp.ToolUseContent{ID: id, Name: "n", Input: jsontext.Value(`{}`)}
	}
	out := func(id string) mcp.Content { return mcp.ToolResultContent{ToolUseID: id} }
	turns := func(n int) (all []mcp.SamplingMessage) {
		for range n {
			all = append(all, model(use("1")), user(out("1")))
		}
		return all
	}
	for name, test := range map[string]struct {
		messages []mcp.SamplingMessage
		want     string
	}{
		"none":                      {nil, ""},
		"talk":                      {[]mcp.SamplingMessage{user(mcp.Text("a")), model(mcp.Text("b")), user(mcp.Text("c"))}, ""},
		"a tool":                    {[]mcp.SamplingMessage{user(mcp.Text("a")), model(mcp.Text("b"), use("1")), user(out("1"))}, ""},
		"two at once, in any order": {[]mcp.SamplingMessage{model(use("1"), use("2")), user(out("2"), out("1")), model(mcp.Text("b"))}, ""},
		"ten turns":                 {turns(10), ""},
		"eleven turns":              {turns(11), "11 times, want at most 10"},
		"no output":                 {[]mcp.SamplingMessage{model(use("1"))}, "with their results after it"},
		"talk in between":           {[]mcp.SamplingMessage{model(use("1")), user(mcp.Text("a")), user(out("1"))}, `message 1: want the result of tool use "1"`},
		"one is missing":            {[]mcp.SamplingMessage{model(use("1"), use("2")), user(out("1"))}, `want the result of tool use "2"`},
		"output of nothing":         {[]mcp.SamplingMessage{user(out("1"))}, `message 0: tool result for "1": the message before has no such tool use`},
		"output of another":         {[]mcp.SamplingMessage{model(use("1")), user(out("1"), out("2"))}, `tool result for "2"`},
		"mixed":                     {[]mcp.SamplingMessage{model(use("1")), user(out("1"), mcp.Text("a"))}, "want tool results only"},
		"twice":                     {[]mcp.SamplingMessage{model(use("1"), use("1"))}, "and once"},
		"a user who uses":           {[]mcp.SamplingMessage{user(use("1"))}, "message of the assistant"},
		"a model that answers":      {[]mcp.SamplingMessage{model(use("1")), model(out("1"))}, "message of the user"},
		"no role":                   {[]mcp.SamplingMessage{{Content: mcp.Contents{mcp.Text("a")}}}, "want user or assistant"},
	} {
		err := dialect.CheckConversation(&mcp.CreateMessageParams{MaxTokens: 1, Messages: test.messages})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// Clients that check hints would refuse the whole result.
func TestHintsThatNoRevisionHasAreLeftOutAlone(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"audience":["user","x"],"priority":7}`:      `{"audience":["user"]}`,
		`{"audience":["x"],"priority":-0.5,"more":1}`: `{"audience":[],"more":1}`,
		`{"audience":["assistant"],"priority":1}`:     `{"audience":["assistant"],"priority":1}`,
	} {
		block := `{"type":"text","text":"a","annotations":` + given + `}`
		var result mcp.CallToolResult
		if err := json.Unmarshal([]byte(`{"content":[`+block+`]}`), &result); err != nil {
			t.Fatal(err)
		}
		for _, v := range mcp.Revisions() {
			encoded, err := dialect.Of(v).Encode(&result)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(openedCall(t, newServer(), v).Reply(encoded, nil).Body); !strings.Contains(got, `"annotations":`+want+`}`) {
				t.Errorf("%s: %s: got %s, want %s", v, given, got, want)
			}
		}
		if again, err := json.Marshal(&result); err != nil || !strings.Contains(string(again), given) {
			t.Errorf("the result itself was changed to %s, %v", again, err)
		}
	}
}
