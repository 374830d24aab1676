package mcp_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestContentsTakeEveryKind(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-241")
	const raw = `[{"type":"text","text":"hi"},{"type":"image","data":"aGk=","mimeType":"image/png"},` +
		`{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"resource_link","uri":"file:///a","name":"a"},` +
		`{"type":"resource","resource":{"uri":"file:///a","text":"hi"}},{"type":"tool_use","id":"1","name":"n","input":{}},` +
		`{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"hi"}]},{"type":"hologram","depth":3}]`
	want := mcp.Contents{
		mcp.Text("hi"),
		mcp.Image([]byte("hi"), "image/png"),
		mcp.Audio([]byte("hi"), "audio/wav"),
		mcp.Link("file:///a", "a"),
		mcp.Embed(mcp.ResourceContents{URI: "file:///a", Text: "hi"}),
		mcp.ToolUseContent{ID: "1", Name: "n", Input: jsontext.Value(`{}`)},
		mcp.ToolResultContent{ToolUseID: "1", Content: []mcp.Content{mcp.Textf("h%c", 'i')}},
		mcp.UnknownContent{Type: "hologram", Raw: jsontext.Value(`{"type":"hologram","depth":3}`)},
	}
	var got mcp.Contents
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
	if again := encode(t, got); again != raw {
		t.Errorf("got  %s\nwant %s", again, raw)
	}
}

func TestUnknownContentIsKeptUnchanged(t *testing.T) {
	t.Parallel()
	const block = `{"z":1e2,"type":"hologram","a":"A\/","n":12345678901234567890}`
	input := []byte("[" + block + "]")
	var got mcp.Contents
	if err := json.Unmarshal(input, &got); err != nil {
		t.Fatal(err)
	}
	clear(input)
	if raw := got[0].(mcp.UnknownContent).Raw; string(raw) != block {
		t.Errorf("got %s, want %s", raw, block)
	}
	raw, err := json.Marshal(got, jsontext.PreserveRawStrings(true))
	if want := "[" + block + "]"; err != nil || string(raw) != want {
		t.Errorf("got %s and error %v, want %s", raw, err, want)
	}
}

func TestContentsFromOneBlock(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-323")
	var m mcp.SamplingMessage
	if err := json.Unmarshal([]byte(`{"role":"user","content":{"text":"hi","type":"text"}}`), &m); err != nil {
		t.Fatal(err)
	}
	if want := (mcp.Contents{mcp.Text("hi")}); !reflect.DeepEqual(m.Content, want) {
		t.Errorf("got %#v, want %#v", m.Content, want)
	}
}

func TestInvalidContentsAreErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{`null`, "want an array of blocks"},
		{`"hi"`, "want an array of blocks"},
		{`["hi"]`, "content"},
		{`[null]`, "type is missing"},
		{`[{"text":"hi"}]`, "type is missing"},
		{`[{"type":"","text":"hi"}]`, "type is missing"},
		{`[{"type":1}]`, "content"},
		{`[{"type":"text","text":1}]`, `content of type "text"`},
		{`[{"type":"text","text":"a","text":"b"}]`, "duplicate"},
		{`[{"type":"text","type":"image"}]`, "duplicate"},
		{`[{"type":"resource","resource":{"uri":"a"}}]`, "exactly one of text and blob"},
		{`[{"type":"text","text":"hi"}`, "unexpected EOF"},
		{`[{"type":"tool_result","content":[{"type":"tool_result","content":[]}]}]`, "inside of a tool result"},
		{`[{"type":"tool_result","content":[{"type":"tool_use"}]}]`, "inside of a tool result"},
		{`[{"type":"tool_result","content":[{"text":"hi"}]}]`, "type is missing"},
		{`[{"type":"tool_result","content":{"type":"text","text":"hi"}}]`, "tool_result"},
		{`{"type":"image","data":"aGk","mimeType":"image/png"}`, "base64"},
	} {
		var got mcp.Contents
		err := json.Unmarshal([]byte(c.raw), &got)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one about %q", c.raw, err, c.want)
		}
	}
}

func TestContentOfAnotherType(t *testing.T) {
	t.Parallel()
	var image mcp.ImageContent
	err := json.Unmarshal([]byte(`{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`), &image)
	if err == nil || !strings.Contains(err.Error(), `got type "audio", want "image"`) {
		t.Errorf("got error %v, want one about the type", err)
	}
}

func TestNilBlocksAreRefused(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		mcp.CallToolResult{Content: []mcp.Content{mcp.Text("a"), nil}},
		mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser}}},
		mcp.Contents{mcp.UnknownContent{Type: "hologram"}},
	} {
		if raw, err := json.Marshal(v); err == nil {
			t.Errorf("%#v: got %s, want an error", v, raw)
		}
	}
}

func TestUnmarshalContent(t *testing.T) {
	t.Parallel()
	got, err := mcp.UnmarshalContent(jsontext.Value(`{"text":"hi","type":"text","x":1}`))
	want := mcp.TextContent{Text: "hi", Extra: jsontext.Value(`{"x":1}`)}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v and error %v, want %#v", got, err, want)
	}
	if got, err := mcp.UnmarshalContent(nil); err == nil {
		t.Errorf("nothing: got %#v, want an error", got)
	}
}

func TestTextOfContents(t *testing.T) {
	t.Parallel()
	cs := mcp.Contents{mcp.Text("a"), mcp.Image(nil, "image/png"), mcp.Text("b")}
	if got, want := cs.Text(), "a\nb"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := mcp.Contents(nil).Text(); got != "" {
		t.Errorf("nil: got %q, want nothing", got)
	}
}

func TestBase64IsStrict(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-231b", "R-241")
	for _, c := range []struct {
		data string
		ok   bool
	}{
		{`aGk=`, true},
		{``, true},
		{`+/+/`, true},
		{`aGk`, false},
		{`aGk==`, false},
		{`-_-_`, false},
		{`aG k=`, false},
		{`aGk=\n`, false},
		{`aG\r\nk=`, false},
		{`é`, false},
	} {
		var image mcp.ImageContent
		err := json.Unmarshal([]byte(`{"type":"image","data":"`+c.data+`","mimeType":"image/png"}`), &image)
		if (err == nil) != c.ok {
			t.Errorf("%q: got error %v, want accepted %t", c.data, err, c.ok)
		}
	}
}

func FuzzContents(f *testing.F) {
	for _, s := range samples {
		if strings.HasPrefix(s.raw, `{"type"`) {
			f.Add([]byte("[" + s.raw + "]"))
		}
	}
	f.Add([]byte(`[{"type":"hologram","a":[{}]}]`))
	f.Add([]byte(`{"type":"resource","resource":{"uri":"","blob":""}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var first, second mcp.Contents
		if json.Unmarshal(raw, &first) != nil {
			return
		}
		once := encode(t, first)
		if err := json.Unmarshal([]byte(once), &second); err != nil {
			t.Fatalf("%s: own output %s: %v", raw, once, err)
		}
		if twice := encode(t, second); twice != once {
			t.Errorf("got %s, want %s", twice, once)
		}
	})
}
