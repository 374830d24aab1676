package jsonrpc_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// params decodes a request with these params and returns them as they were read.
func params(t *testing.T, text string) string {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(call(text)), jsonrpc.Limits{})
	if err != nil {
		t.Errorf("Decode(%q): %v", call(text), err)
	}
	return string(m.Params)
}

// result decodes a response with this result and returns it as it was read.
func result(t *testing.T, text string) string {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"result":`+text+`}`), jsonrpc.Limits{})
	if err != nil {
		t.Errorf("Decode of result %q: %v", text, err)
	}
	return string(m.Result)
}

func TestStringValuesThatAreNotUnicodeAreRepaired(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`"cut \ud83d"`, `"cut ` + "\ufffd" + `"`},
		{`"\udc00"`, "\"\ufffd\""},
		{`"\udc00\ud800"`, "\"\ufffd\ufffd\""},
		{`"\ud83dx\ud83d\ude00"`, "\"\ufffdx😀\""},
		{"\"\xff\"", "\"\ufffd\""},
		{"\"a\xc0\xafb\"", "\"a\ufffd\ufffdb\""},
		{"\"\xe2\x82\"", "\"\ufffd\ufffd\""},
		{"\"\xed\xa0\x80\"", "\"\ufffd\ufffd\ufffd\""},
		{"\"\xf4\x90\x80\x80 \\n\\\"\"", "\"\ufffd\ufffd\ufffd\ufffd \\n\\\"\""},
	} {
		for _, in := range []string{
			`{"arguments":{"text":#}}`,
			`{"arguments":{"name":#,"uri":[#,{"id":#}]}}`,
			`{"_meta":{"note":#},"other":[ # , 1e3 ]}`,
			`{"argument":{"name":"n","value":#}}`,
			`{"inputResponses":{"k":{"action":"accept","content":{"name":#}}}}`,
			`{"level":"info","data":{"uri":#}}`,
			`{"messages":[{"role":"user","content":{"type":"text","text":#}}]}`,
		} {
			if got, want := params(t, strings.ReplaceAll(in, "#", tt.text)), strings.ReplaceAll(in, "#", tt.want); got != want {
				t.Errorf("params %s with %q: got %s, want %s", in, tt.text, got, want)
			}
		}
		for _, in := range []string{
			`{"content":[{"type":"text","text":#}],"structuredContent":{"name":#}}`,
			`{"action":"accept","content":{"name":#,"url":#}}`,
			`{"roots":[{"uri":"file:///a","name":#}]}`,
			`{"tools":[{"name":"t","description":#,"inputSchema":{"properties":{"a":{"const":{"name":#}}}}}]}`,
			`{"completion":{"values":[#]}}`,
			`#`,
		} {
			if got, want := result(t, strings.ReplaceAll(in, "#", tt.text)), strings.ReplaceAll(in, "#", tt.want); got != want {
				t.Errorf("result %s with %q: got %s, want %s", in, tt.text, got, want)
			}
		}
	}
}

func TestIdentifiersThatAreNotUnicodeAreErrors(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-001")
	for _, bad := range []string{`\ud83d`, "\xff", "x\xc3"} {
		for _, text := range []string{
			call(`{"#":1}`),
			call(`{"arguments":{"a":{"#":1}}}`),
			call(`{"name":"#"}`),
			call(`{"uri":"#"}`),
			call(`{"cursor":"#"}`),
			call(`{"requestState":"#"}`),
			call(`{"_meta":{"progressToken":"#"}}`),
			call(`{"notifications":{"resourceSubscriptions":["file:///a","#"]}}`),
			call(`{"ref":{"type":"ref/resource","uri":"#"}}`),
			call(`{"arguments":[{"name":"#"}]}`),
			`{"jsonrpc":"2.0","method":"#","id":1}`,
			`{"jsonrpc":"2.0","#":1,"method":"m","id":1}`,
			`{"jsonrpc":"2.0","id":1,"result":{"#":1}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"#"}}`,
			`{"jsonrpc":"2.0","result":{"tools":[{"name":"#"}]},"id":1}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource_link","uri":"#"}]}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"#"}]}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"#"}]}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"requestState":"#"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":{"#":"x"}}}`,
		} {
			want := request
			if strings.Contains(text, `"result"`) {
				want = response
			}
			err := mustRefuse(t, strings.ReplaceAll(text, "#", bad), jsonrpc.Limits{})
			if err.Code != jsonrpc.CodeParse || err.Kind != want || err.ID.Raw() != "1" || !strings.Contains(err.Reason, "not valid Unicode") {
				t.Errorf("%s with %q: got %d %v %v (%s), want a parse error of %v 1", text, bad, err.Code, err.Kind, err.ID, err.Reason, want)
			}
		}
		err := mustRefuse(t, `{"jsonrpc":"2.0","id":"`+bad+`","method":"m"}`, jsonrpc.Limits{})
		if err.Kind != request || !err.ID.IsZero() {
			t.Errorf("id %q: got %v %v, want a request without an id", bad, err.Kind, err.ID)
		}
	}
}

func TestLastOfTwoMembersOfAResultCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{ "a" : 1 , "b" : [ {} ] , "a" : 2 }`, `{ "b" : [ {} ] , "a" : 2 }`},
		{`{"a":1,"a":2,"a":3,"b":4}`, `{"a":3,"b":4}`},
		{`{"a":1,"\u0061":2}`, `{"\u0061":2}`},
		{`{"a":{"b":1,"b":2,"c":"\ud800"},"d":[{"e":1,"e":[1]}],"a":{"b":3,"b":{}}}`, `{"d":[{"e":[1]}],"a":{"b":{}}}`},
		{`{"":1,"":2,"a":"\ud800","a":"\udc00"}`, "{\"\":2,\"a\":\"\ufffd\"}"},
	} {
		if got := result(t, tt.text); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2,"message":"m","data":{"a":1,"a":2}}}`), jsonrpc.Limits{})
	if err != nil || m.Error.Code != 2 || string(m.Error.Data) != `{"a":2}` {
		t.Errorf("got %+v, %v, want the last code and data", m.Error, err)
	}
}

func TestMemberThatOccursTwiceIsAnErrorOfItsRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-001")
	for _, tt := range []struct {
		text string
		kind jsonrpc.Kind
		id   string
	}{
		{call(`{"name":"a","name":"b"}`), request, "1"},
		{call(`{"arguments":{"path":"/a","path":"/b"}}`), request, "1"},
		{call(`{"arguments":{"path":"\ud800","path":"/b"}}`), request, "1"},
		{`{"jsonrpc":"2.0","params":{"a":1,"a":1},"method":"m","id":"x"}`, request, `"x"`},
		{`{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`, request, "1"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":1}}`, notification, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`, response, "1"},
		{`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, response, "1"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, response, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","result":{"a":1,"a":1}}`, invalid, "1"},
	} {
		err := mustRefuse(t, tt.text, jsonrpc.Limits{})
		if err.Code != jsonrpc.CodeParse || err.Kind != tt.kind || err.ID.Raw() != tt.id || !strings.Contains(err.Reason, "occurs twice") {
			t.Errorf("%s: got %d %v %v (%s), want %v %s", tt.text, err.Code, err.Kind, err.ID, err.Reason, tt.kind, tt.id)
		}
	}
}

func TestRepairHoldsTheLimits(t *testing.T) {
	t.Parallel()
	bad := `{"jsonrpc":"2.0","result":{"a":"\ud800","b":#},"id":5}`
	for _, tt := range []struct {
		value  string
		limits jsonrpc.Limits
	}{
		{`[[[1]]]`, jsonrpc.Limits{Depth: 4}},
		{`[1,2,3]`, jsonrpc.Limits{Elements: 8}},
		{`1e999`, jsonrpc.Limits{}},
		{`1`, jsonrpc.Limits{Size: 40}},
	} {
		err := mustRefuse(t, strings.Replace(bad, "#", tt.value, 1), tt.limits)
		if err.Kind != response || err.ID.Raw() != "5" {
			t.Errorf("%s: got %v %v (%s), want response 5", tt.value, err.Kind, err.ID, err.Reason)
		}
	}
}

// Texts that could make the repair slow are refused or repaired in time that grows with their
// length: this test would run for minutes otherwise.
func TestRepairedTextsAreWithinTheLimit(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-001")
	const fixed = len(`{"jsonrpc":"2.0","id":1,"result":""}`)
	limits := jsonrpc.Limits{Repaired: fixed + 300}
	for _, tt := range []struct {
		result string
		fits   bool
	}{
		{strings.Repeat("\xff", 100), true},
		{strings.Repeat("\xff", 101), false},
		{strings.Repeat(`\ud800`, 100), true},
		{strings.Repeat(`\ud800`, 101), false},
		{strings.Repeat("x", 1000), true}, // as it was
	} {
		text := `{"jsonrpc":"2.0","id":1,"result":"` + tt.result + `"}`
		m, err := jsonrpc.Decode([]byte(text), limits)
		if tt.fits {
			if err != nil {
				t.Errorf("%d bytes: got %v, want them read", len(text), err)
			}
			continue
		}
		bad, ok := errors.AsType[*jsonrpc.DecodeError](err)
		if !ok || bad.ID.String() != "1" || !strings.Contains(err.Error(), "longer than 336 bytes") {
			t.Errorf("%d bytes: got %s, %v, want an error with the id and the limit", len(text), m.Result, err)
		}
	}
	twice := `{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat("\xff", 1000) + `","a":1}}`
	if _, err := jsonrpc.Decode([]byte(twice), limits); err != nil {
		t.Errorf("what is removed: got %v, want it not counted", err)
	}
}

// FuzzRepair checks what the package promises about repaired text: it is strict JSON, a text
// that was strict is not touched, and what is not repaired stays.
func FuzzRepair(f *testing.F) {
	for _, seed := range []string{
		toolsCall,
		call(`{"arguments":{"a":"\ud83d","b":"` + "\xff" + `"}}`),
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":{"c":1,"c":"\udc00"},"a":[2]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":{"a":1,"a":2},"a":{"a":1,"a":{"b":"\ud800"}}}}`,
		`{"r\u0065sult":{"a":1,"a":1},"id":1,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","result":{"a":1,"a":1}}`,
		"\x1e" + toolsCall,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		m, err := jsonrpc.Decode(data, jsonrpc.Limits{})
		if !bytes.Equal(data, before) {
			t.Fatalf("Decode changed the text %q", before)
		}
		if err != nil {
			return
		}
		for _, value := range []jsontext.Value{m.Params, m.Result} {
			if value != nil && jsonrpc.CheckValue(value, jsonrpc.Limits{}) != nil {
				t.Fatalf("%q was repaired to %q, which is not strict", data, value)
			}
		}
		strict := jsontext.Value(data).IsValid()
		if strict && !bytes.Contains(data, m.Params) || strict && !bytes.Contains(data, m.Result) {
			t.Fatalf("%q is valid and was changed to %q %q", data, m.Params, m.Result)
		}
		if m.Kind != response && !jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true)) {
			t.Fatalf("%q, a %v, was accepted", data, m.Kind)
		}
		checkAgainstLenientParser(t, data, m)
	})
}

// checkAgainstLenientParser compares the values with those of a parser that takes the last of
// several members and replaces what is not Unicode, as most parsers do.
func checkAgainstLenientParser(t *testing.T, data []byte, m jsonrpc.Message) {
	t.Helper()
	lenient := json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var want, got struct{ Params, Result lastWins }
	if json.Unmarshal(data, &want, lenient) != nil {
		return // Members in other letter case, such as "PARAMS".
	}
	if err := json.Unmarshal(encode(m), &got); err != nil {
		t.Fatalf("%q became %q: %v", data, encode(m), err)
	}
	if want.Result.text != got.Result.text && m.Error == nil || want.Params.text != got.Params.text {
		t.Fatalf("%q became %q: got %+v, want %+v", data, encode(m), got, want)
	}
}

// lastWins is the canonical text of a value in which the last of several members counts.
type lastWins struct{ text string }

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (l *lastWins) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	value, err := lastOf(raw)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	l.text = string(text)
	return err
}

// lastOf reads a value; the last of several members counts.
func lastOf(raw jsontext.Value) (any, error) {
	lenient := json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	switch raw.Kind() {
	case '{':
		d := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
		_, _ = d.ReadToken()
		object := make(map[string]any)
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			value, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			if object[key], err = lastOf(value); err != nil {
				return nil, err
			}
		}
		return object, nil
	case '[':
		var items []jsontext.Value
		if err := json.Unmarshal(raw, &items, lenient); err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i, item := range items {
			var err error
			if list[i], err = lastOf(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case '0':
		return string(raw), nil
	}
	var value any
	err := json.Unmarshal(raw, &value, lenient)
	return value, err
}
