package jsonrpc_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// call returns a request whose params are the given text.
func call(params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
}

func TestTextThatIsNotStrictJSONIsAParseError(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-001")
	for _, tt := range []struct{ name, text string }{
		{"empty", ``},
		{"white space", " \n\t"},
		{"cut after brace", `{`},
		{"cut after name", `{"jsonrpc"`},
		{"cut after colon", `{"jsonrpc":`},
		{"cut in a string", `{"jsonrpc":"2.0`},
		{"cut after value", `{"jsonrpc":"2.0"`},
		{"cut after comma", `{"jsonrpc":"2.0",`},
		{"cut in params", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,`},
		{"cut literal", `{"a":tru}`},
		{"word", `ping`},
		{"NaN", `{"a":NaN}`},
		{"Infinity", `{"a":Infinity}`},
		{"undefined", `{"a":undefined}`},
		{"single quotes", `{'a':1}`},
		{"bare name", `{a:1}`},
		{"number as name", `{1:1}`},
		{"null as name", `{null:1}`},
		{"trailing comma in object", `{"a":1,}`},
		{"trailing comma in array", call(`{"a":[1,]}`)},
		{"leading comma", `{,"a":1}`},
		{"two commas", `{"a":1,,"b":2}`},
		{"missing comma", `{"a":1 "b":2}`},
		{"missing colon", `{"a" 1}`},
		{"mismatched brackets", call(`{"a":[1}]`)},
		{"closing first", `}`},
		{"line comment", "{} // no"},
		{"block comment", `{/* no */}`},
		{"hash comment", `{"a":1}# no`},
		{"leading zero", call(`{"a":01}`)},
		{"leading plus", call(`{"a":+1}`)},
		{"bare point", call(`{"a":.5}`)},
		{"trailing point", call(`{"a":5.}`)},
		{"empty exponent", call(`{"a":1e}`)},
		{"hexadecimal", call(`{"a":0x10}`)},
		{"minus alone", call(`{"a":-}`)},
		{"second message", call(`{}`) + call(`{}`)},
		{"second message on a new line", call(`{}`) + "\n" + call(`{}`)},
		{"trailing brace", call(`{}`) + `}`},
		{"trailing word", call(`{}`) + ` x`},
		{"trailing NUL", call(`{}`) + "\x00"},
		{"scalar and more", `1 2`},
		{"form feed as space", "\f" + call(`{}`)},
		{"no-break space as space", "\u00a0" + call(`{}`)},

		{"raw newline in a string", call("{\"a\":\"b\nc\"}")},
		{"raw NUL in a string", call("{\"a\":\"b\x00c\"}")},
		{"unknown escape", call(`{"a":"\x41"}`)},
		{"short unicode escape", call(`{"a":"\u00"}`)},
		{"byte ff in a name", call("{\"\xff\":1}")},
		{"byte ff outside of strings", "\xff" + call(`{}`)},
		{"lone surrogate in a name", call(`{"\ud800":1}`)},
		{"lone surrogate in the id", `{"jsonrpc":"2.0","id":"\ud800","method":"m"}`},
		{"lone surrogate in the method", `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`},
		{"UTF-8 byte order mark", "\xef\xbb\xbf" + call(`{}`)},
		{"UTF-16 LE", "\xff\xfe{\x00}\x00"},
		{"UTF-16 BE", "\xfe\xff\x00{\x00}"},
		{"UTF-16 without mark", "{\x00}\x00"},
		{"UTF-32", "{\x00\x00\x00}\x00\x00\x00"},

		{"duplicate id", `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`},
		{"duplicate method", `{"jsonrpc":"2.0","id":1,"method":"a","method":"a"}`},
		{"duplicate by escape", `{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}`},
		{"duplicate jsonrpc", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"a"}`},
		{"duplicate params", `{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}}`},
		{"duplicate unknown member", `{"jsonrpc":"2.0","id":1,"method":"a","x":1,"x":1}`},
		{"duplicate at depth 1", call(`{"name":"a","name":"b"}`)},
		{"duplicate in _meta", call(`{"_meta":{"k":1,"k":2}}`)},
		{"duplicate in arguments", call(`{"arguments":{"path":"/a","path":"/b"}}`)},
		{"duplicate at depth 5", call(`{"a":{"b":{"c":{"d":{"e":1,"e":2}}}}}`)},
		{"duplicate below an array", call(`{"a":[[{"b":1,"c":2,"b":3}]]}`)},
		{"duplicate empty name", call(`{"":1,"":2}`)},
		{"duplicate in an unknown member", `{"jsonrpc":"2.0","id":1,"method":"m","x":{"a":1,"a":1}}`},
		{"broken JSON in a wrong envelope", `[{"a":1,"a":2}]`},
	} {
		err := mustRefuse(t, tt.text, jsonrpc.Limits{})
		if err.Code != jsonrpc.CodeParse {
			t.Errorf("%s: got %d (%s), want %d", tt.name, err.Code, err.Reason, jsonrpc.CodeParse)
		}
		isCall := strings.Contains(tt.text, `"id":1,"method":"tools/call","params":`) && !strings.HasPrefix(tt.text, "\xff") &&
			!strings.HasPrefix(tt.text, "\f") && !strings.HasPrefix(tt.text, "\u00a0")
		if isCall && (err.Kind != request || err.ID.Raw() != "1") {
			t.Errorf("%s: got %v %v, want request 1", tt.name, err.Kind, err.ID)
		}
		if jsonrpc.CheckValue([]byte(tt.text), jsonrpc.Limits{}) == nil {
			t.Errorf("%s: CheckValue accepts what Decode refuses", tt.name)
		}
	}
}

func TestStrictJSONIsAccepted(t *testing.T) {
	t.Parallel()
	for _, params := range []string{
		`{"a":"\ud83d\ude00"}`,
		`{"a":"😀 é \u0000 \u2028"}`,
		"{\"a\":\"\u2028\u2029\x7f\"}",
		`{"a":1,"A":2,"a\u0000":3,"":4}`,
		`{"a":{"x":1},"b":{"x":1}}`,
		`{"a":[{"x":1},{"x":1}]}`,
		`{"a":-0,"b":1e308,"c":1E-400,"d":0.1e+1,"e":9007199254740993}`,
	} {
		if _, err := jsonrpc.Decode([]byte(call(params)), jsonrpc.Limits{}); err != nil {
			t.Errorf("Decode(%s): %v", call(params), err)
		}
		if err := jsonrpc.CheckValue([]byte(params), jsonrpc.Limits{}); err != nil {
			t.Errorf("CheckValue(%s): %v", params, err)
		}
	}
}

func TestReasonIsShortAndPrintable(t *testing.T) {
	t.Parallel()
	hostile := strings.Repeat("\u202e\u0007\U000e0041", 1<<18)
	escaped := strings.NewReplacer("\u0007", `\u0007`).Replace(hostile)
	for _, text := range []string{
		`{"jsonrpc":"` + escaped + `","id":1,"method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":{"` + escaped + `":1}}`,
		`{"jsonrpc":"2.0","id":{"` + escaped + `":1},"method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":"` + escaped + `"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":"` + escaped + `","message":""}}`,
		`{"` + escaped + `":1,"` + escaped + `":2}`,
		`{"a":1` + strings.Repeat("0", 1<<20) + `}`,
		`{"a":1e` + strings.Repeat("9", 1000) + `}`,
		`{"a":` + hostile + `}`,
		`{"a":"\` + hostile + `"}`,
		`{"a":"` + hostile + `"}`,
	} {
		err := mustRefuse(t, text, jsonrpc.Limits{})
		if len(err.Reason) >= 1024 {
			t.Errorf("reason for %.40q has %d bytes, want less than 1024", text, len(err.Reason))
		}
		if strings.ContainsFunc(err.Reason, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("reason %q does not print", err.Reason)
		}
	}
}

func TestReasonQuotesAtMost64Characters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ version, quoted string }{
		{strings.Repeat("é", 62), `"\"` + strings.Repeat("é", 62) + `\""`},
		{strings.Repeat("é", 63), `"\"` + strings.Repeat("é", 63) + `"…`},
		{strings.Repeat("😀", 99), `"\"` + strings.Repeat("😀", 63) + `"…`},
	} {
		err := mustRefuse(t, `{"jsonrpc":"`+tt.version+`"}`, jsonrpc.Limits{})
		if want := `member jsonrpc must be "2.0", found ` + tt.quoted; err.Reason != want {
			t.Errorf("got %s, want %s", err.Reason, want)
		}
	}
}
