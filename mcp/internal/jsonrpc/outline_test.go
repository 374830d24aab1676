package jsonrpc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func TestErrorNamesTheMessageThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-005", "R-007")
	for _, tt := range []struct {
		text string
		kind jsonrpc.Kind
		id   string
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}`, response, "7"},
		{`{"jsonrpc":"2.0","result":{"a":[NaN,{"id":3}]},"id":7}`, response, "7"},
		{`{"jsonrpc":"2.0","result":{"id":3,"text":"\"id\":4,"},"id":"seven","x":NaN}`, response, `"seven"`},
		{`{"jsonrpc":"2.0","error":{"code":NaN},"id":7}`, response, "7"},
		{`{"id":7,"method":"tools/call","params":{"x":"` + "\t" + `"}}`, request, "7"},
		{`{"\u0069d":7,"m\u0065thod":"x","params":{,}}`, request, "7"},
		{`{"jsonrpc":"2.0","method":"n","params":{,}}`, notification, ""},
		{`{"jsonrpc":"2.0","id":null,"method":"n","params":{,}}`, request, ""},
		{`{"jsonrpc":"2.0","id":7,"method":"n","result":{,}}`, invalid, "7"},
		{`{"jsonrpc":"2.0","id":7,"result":{"text":"cut he`, response, "7"},
		{`{"jsonrpc":"2.0","id":7,"result":{"content":[`, response, "7"},
		{`{"jsonrpc":"2.0","id":7,`, invalid, "7"},
		{`{"jsonrpc":"2.0","id":7`, invalid, ""}, // It may have been 70.
		{`{"jsonrpc":"2.0","id":"7`, invalid, ""},
		{`{"jsonrpc":"2.0","result":{},"id":1.5,"x":NaN}`, response, ""},
		{`{"jsonrpc":"2.0","result":{},"id":[1],"x":NaN}`, response, ""},
		{`{"jsonrpc":"2.0","result":{},"id":` + strings.Repeat("1", 300) + `,"x":NaN}`, response, ""},
		{"\ufeff" + `{"jsonrpc":"2.0","id":7,"result":{}}`, response, "7"},
		{"\x1e" + `{"jsonrpc":"2.0","id":7,"result":{}}`, response, "7"},
		{`data: {"jsonrpc":"2.0","id":7,"result":{}}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":7,"result":{}}}`, response, "7"},
		{`"id":7`, invalid, ""},
		{`id`, invalid, ""},
		{``, invalid, ""},
	} {
		err := mustRefuse(t, tt.text, jsonrpc.Limits{})
		if err.Kind != tt.kind || err.ID.Raw() != tt.id {
			t.Errorf("%.80q: got %v %v, want %v %s", tt.text, err.Kind, err.ID, tt.kind, tt.id)
		}
	}
}

func TestOversizedMessageIsNamedByItsBeginningOrItsEnd(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-005")
	long := strings.Repeat(`\\\"x{[`, 1000)
	for _, tt := range []struct {
		text string
		kind jsonrpc.Kind
		id   string
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"text":"` + long + `"}}`, response, "7"},
		{`{"jsonrpc":"2.0","result":{"text":"` + long + `"},"id":7}`, response, "7"},
		{`{"result":{"text":"` + long + `"} , "jsonrpc" : "2.0", "id" : "a\"b" }` + " \r", response, `"a\"b"`},
		{`{"result":{"text":"` + long + `"},"x":{"id":3,"y":["id"]},"id":7,"z":null}`, response, "7"},
		{`{"id":7,"params":{"text":"` + long + `"},"method":"tools/call","jsonrpc":"2.0"}`, request, "7"},
		{`{"params":{"text":"` + long + `"},"method":"notifications/x","jsonrpc":"2.0"}`, notification, ""},
		{`{"id":7,"result":{"text":"` + long + `"},"id":8}`, response, ""},
		{`{"id":7,"result":{"text":"` + long + `"},"id":7}`, response, "7"},
		{`{"result":{"text":"` + long + `\",\"id\":7}`, response, ""},
		{`{"result":{"text":"` + long + `"},"id":7`, response, ""},
		{`[{"result":{"text":"` + long + `"},"id":7}]`, invalid, ""},
		{long, invalid, ""},
	} {
		for _, keep := range []int{50, 200} {
			err := jsonrpc.Incomplete("too long", []byte(tt.text[:keep]), []byte(tt.text[len(tt.text)-keep:]))
			if err.Kind != tt.kind || err.ID.Raw() != tt.id || err.Reason != "too long" {
				t.Errorf("%d bytes of %.40s…%s: got %v %v, want %v %s", keep, tt.text, tt.text[len(tt.text)-20:], err.Kind, err.ID, tt.kind, tt.id)
			}
		}
	}
}

// FuzzOutline checks that the kind and the id that are recognized without decoding are those
// of the decoded message, wherever the text is cut.
func FuzzOutline(f *testing.F) {
	f.Add([]byte(toolsCall), 20, 30)
	f.Add([]byte(`{"jsonrpc":"2.0","result":{"text":"\\\"x{["},"id":"\u0061"}`), 1, 40)
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"\\"}}`), 5, 5)
	f.Add([]byte(`{"error":{"code":1,"message":"m"} , "jsonrpc" : "2.0" }`), 9, 12)
	f.Fuzz(func(t *testing.T, data []byte, head, tail int) {
		m, err := jsonrpc.Decode(data, jsonrpc.Limits{})
		if err != nil {
			if _, err := jsonrpc.Decode(append([]byte(" "), data...), jsonrpc.Limits{}); err == nil {
				t.Fatalf("white space makes %q valid", data)
			}
			return
		}
		// Another bracket makes the text invalid and the outline the only source.
		_, err = jsonrpc.Decode(append(data[:len(data):len(data)], ']'), jsonrpc.Limits{})
		whole, _ := errors.AsType[*jsonrpc.DecodeError](err)
		if whole == nil || whole.Kind != m.Kind || whole.ID.Key() != m.ID.Key() {
			t.Fatalf("%q: outline %+v, want %v %v", data, whole, m.Kind, m.ID)
		}
		head, tail = min(max(head, 0), len(data)), min(max(tail, 0), len(data))
		part := jsonrpc.Incomplete("", data[:head], data[len(data)-tail:])
		if !part.ID.IsZero() && part.ID.Key() != m.ID.Key() {
			t.Fatalf("%q cut to %d and %d: id %v, want %v", data, head, tail, part.ID, m.ID)
		}
	})
}
