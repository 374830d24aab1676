package jsonrpc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func TestIsBatchPeeksAtTheFirstByte(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`[`: true, " \t\r\n[{}]": true, `[]`: true,
		`{}`: false, ``: false, ` `: false, `"["`: false, "\xef\xbb\xbf[]": false, "\f[]": false,
	} {
		if got := jsonrpc.IsBatch([]byte(text)); got != want {
			t.Errorf("IsBatch(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestBadItemDoesNotSpoilTheOthers(t *testing.T) {
	t.Parallel()
	text := `[
		{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}},
		{"jsonrpc":"2.0","id":2,"method":""},
		1,
		[],
		{"jsonrpc":"2.0","method":"n"},
		{"jsonrpc":"2.0","id":3,"result":{}},
		{"jsonrpc":"2.0","id":"1","method":"b"},
		{"jsonrpc":"2.0","id":1,"method":"again"},
		{"jsonrpc":"2.0","id":1,"result":{}},
		{"jsonrpc":"2.0","id":"\u0031","method":"again"}
	]`
	items, err := jsonrpc.DecodeBatch([]byte(text), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range items {
		if item.Err != nil {
			got = append(got, fmt.Sprintf("%d %v %v", item.Err.Code, item.Err.Kind, item.Err.ID))
			continue
		}
		m := item.Message
		got = append(got, fmt.Sprintf("%v %v %s", m.Kind, m.ID, m.Method+string(m.Params)+string(m.Result)))
	}
	want := []string{
		`request 1 a{"x":1}`,
		`-32600 request 2`,
		`-32600 invalid message null`,
		`-32600 invalid message null`,
		`notification null n`,
		`response 3 {}`,
		`request "1" b`,
		`-32600 request null`,
		`response 1 {}`,
		`-32600 request null`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestBatchIsReadAsAWhole(t *testing.T) {
	t.Parallel()
	ping := `{"jsonrpc":"2.0","method":"ping"}`
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(ping+",", n), ",") + "]" }
	for _, tt := range []struct {
		name string
		text string
		code int64 // 0 for none
	}{
		{"one", list(1), 0},
		{"a hundred", list(100), 0},
		{"a hundred and one", list(101), jsonrpc.CodeInvalidRequest},
		{"a million", list(1_000_000), jsonrpc.CodeInvalidRequest},
		{"none", `[]`, jsonrpc.CodeInvalidRequest},
		{"a message", ping, jsonrpc.CodeInvalidRequest},
		{"a number", `1`, jsonrpc.CodeInvalidRequest},
		{"nothing", ``, jsonrpc.CodeParse},
		{"not closed", `[` + ping, jsonrpc.CodeParse},
		{"not closed after a comma", `[` + ping + `,`, jsonrpc.CodeParse},
		{"trailing comma", `[` + ping + `,]`, jsonrpc.CodeParse},
		{"trailing data", list(1) + `[]`, jsonrpc.CodeParse},
		{"broken item", `[` + ping + `,{"a"}]`, jsonrpc.CodeParse},
		{"too deep", strings.Repeat("[", 1000), jsonrpc.CodeParse},
		{"127 levels in an item", `[{"a":` + nest(126) + `}]`, 0},
		{"128 levels in an item", `[{"a":` + nest(127) + `}]`, jsonrpc.CodeParse},
		{"too many values", `[{"a":[` + strings.Repeat("0,", 50_000) + `0]},{"a":[` + strings.Repeat("0,", 50_000) + `0]}]`, jsonrpc.CodeInvalidRequest},
		{"huge number", `[{"id":1,"method":"m","params":{"a":1e999}}]`, jsonrpc.CodeInvalidRequest},
	} {
		items, err := jsonrpc.DecodeBatch([]byte(tt.text), jsonrpc.Limits{})
		if tt.code == 0 {
			if err != nil || len(items) == 0 {
				t.Errorf("%s: got %d items, %v", tt.name, len(items), err)
			}
			continue
		}
		refusal, ok := errors.AsType[*jsonrpc.DecodeError](err)
		if !ok || refusal.Code != tt.code || items != nil {
			t.Errorf("%s: got %d items, %v, want code %d", tt.name, len(items), err, tt.code)
		}
	}
}

// What is wrong with one item is wrong with that item alone, as long as the whole is JSON.
func TestItemsOfABatchAreRepairedAndRefusedOneByOne(t *testing.T) {
	t.Parallel()
	items, err := jsonrpc.DecodeBatch([]byte(`[
		{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"cut \ud83d"}},
		{"jsonrpc":"2.0","id":2,"method":"a","params":{"x":1,"x":2}},
		{"jsonrpc":"2.0","id":3,"method":"a","params":{"name":"\udc00"}},
		{"jsonrpc":"2.0","id":4,"result":{"x":1,"x":2}}
	]`), jsonrpc.Limits{})
	if err != nil || len(items) != 4 {
		t.Fatalf("got %d items, %v, want 4", len(items), err)
	}
	if got, want := string(items[0].Message.Params), `{"x":"cut �"}`; items[0].Err != nil || got != want {
		t.Errorf("item 1: got %s, %v, want %s", got, items[0].Err, want)
	}
	for i, id := range map[int]string{1: "2", 2: "3"} {
		if e := items[i].Err; e == nil || e.Kind != request || e.ID.Raw() != id || e.Code != jsonrpc.CodeParse {
			t.Errorf("item %d: got %+v, want a parse error of request %s", i+1, e, id)
		}
	}
	if got, want := string(items[3].Message.Result), `{"x":2}`; items[3].Err != nil || got != want {
		t.Errorf("item 4: got %s, %v, want %s", got, items[3].Err, want)
	}
}

// A text with several messages that cannot be split reliably is refused as a whole, and the
// error names each of them.
func TestErrorOfSeveralMessagesNamesEach(t *testing.T) {
	t.Parallel()
	one := `{"jsonrpc":"2.0","id":1,"method":"a"}`
	for _, tt := range []struct{ text, want string }{
		{`[` + one + `,{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":"b","result":{"x":NaN}}]`, `request 1, response "b"`},
		{`[{"jsonrpc":"2.0","method":"n","params":NaN},` + one + `]`, `request 1`},
		{`[{"jsonrpc":"2.0","method":"n","params":NaN}]`, `invalid message null`},
		{`[` + one + `,{"jsonrpc":"2.0","id":2,"method":"a","par`, `request 1, request 2`},
		{one + `{"jsonrpc":"2.0","id":2,"result":{}}`, `request 1, response 2`},
		{"[" + strings.TrimSuffix(strings.Repeat(one+",", 101), ",") + "]", "request 1"},
	} {
		_, err := jsonrpc.DecodeBatch([]byte(tt.text), jsonrpc.Limits{})
		if !jsonrpc.IsBatch([]byte(tt.text)) {
			_, err = jsonrpc.Decode([]byte(tt.text), jsonrpc.Limits{})
		}
		var got []string
		refusal, _ := errors.AsType[*jsonrpc.DecodeError](err)
		for ; refusal != nil; refusal = refusal.Next {
			got = append(got, fmt.Sprint(refusal.Kind, " ", refusal.ID))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%.80s: got %s, want %s", tt.text, strings.Join(got, ", "), tt.want)
		}
	}
}
