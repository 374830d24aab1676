package jsonrpc_test

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func TestAppendWritesWholeMessages(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-001", "R-006a", "R-007", "R-009a")
	one, a := jsonrpc.NumberID(1), jsonrpc.StringID("a")
	escaped, err := jsonrpc.ParseID([]byte(`"\u0061"`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ got, want string }{
		{
			string(jsonrpc.AppendRequest(nil, one, "ping", nil)),
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		}, {
			string(jsonrpc.AppendRequest([]byte("data: "), a, "tools/call", jsontext.Value(`{"a":1}`))),
			`data: {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"a":1}}`,
		}, {
			string(jsonrpc.AppendRequest(nil, escaped, "<b>&\"\n\u2028", nil)),
			`{"jsonrpc":"2.0","id":"\u0061","method":"<b>&\"\n` + "\u2028" + `"}`,
		}, {
			string(jsonrpc.AppendNotification(nil, "n", nil)),
			`{"jsonrpc":"2.0","method":"n"}`,
		}, {
			string(jsonrpc.AppendNotification(nil, "n", jsontext.Value(`{}`))),
			`{"jsonrpc":"2.0","method":"n","params":{}}`,
		}, {
			string(jsonrpc.AppendResult(nil, one, nil)),
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
		}, {
			string(jsonrpc.AppendResult(nil, one, jsontext.Value(`[1]`))),
			`{"jsonrpc":"2.0","id":1,"result":[1]}`,
		}, {
			string(jsonrpc.AppendError(nil, one, &jsonrpc.Error{Code: -32600, Message: "a\nb"})),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a\nb"}}`,
		}, {
			string(jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{Message: "\xff", Data: jsontext.Value(`{"x":1}`)})),
			`{"jsonrpc":"2.0","error":{"code":0,"message":"` + "\ufffd" + `","data":{"x":1}}}`,
		},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestRawValuesNeverBreakTheLine(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-068")
	raw := jsontext.Value("{\n\t\"a\": \"x\\ny\",\r\n\t\"b\": [1,\r2]\n}")
	original := string(raw)
	const flat = `{ 	"a": "x\ny",  	"b": [1, 2] }`
	for _, tt := range []struct{ got, want string }{
		{
			string(jsonrpc.AppendRequest(nil, jsonrpc.NumberID(1), "m", raw)),
			`{"jsonrpc":"2.0","id":1,"method":"m","params":` + flat + `}`,
		}, {
			string(jsonrpc.AppendResult(nil, jsonrpc.NumberID(1), raw)),
			`{"jsonrpc":"2.0","id":1,"result":` + flat + `}`,
		}, {
			string(jsonrpc.AppendError([]byte("\n"), jsonrpc.NumberID(1), &jsonrpc.Error{Data: raw})),
			"\n" + `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"","data":` + flat + `}}`,
		},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	if string(raw) != original {
		t.Errorf("the raw value was changed to %q", raw)
	}
}
