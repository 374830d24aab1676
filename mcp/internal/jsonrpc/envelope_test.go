package jsonrpc_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

const (
	request      = jsonrpc.Request
	notification = jsonrpc.Notification
	response     = jsonrpc.Response
	invalid      = jsonrpc.Invalid
)

// mustRefuse decodes text and returns the error that it has to give.
func mustRefuse(t *testing.T, text string, limits jsonrpc.Limits) *jsonrpc.DecodeError {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(text), limits)
	refusal, ok := errors.AsType[*jsonrpc.DecodeError](err)
	if !ok {
		t.Fatalf("Decode(%.100q) = %v, %v, want a DecodeError", text, m, err)
	}
	return refusal
}

func TestEnvelopesThatAreAccepted(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-001", "R-002")
	for _, tt := range []struct {
		text   string
		kind   jsonrpc.Kind
		id     string
		method string
		params string
		result string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, request, `1`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":"1","method":"ping"}`, request, `"1"`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":"","method":"ping"}`, request, `""`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":0,"method":"ping"}`, request, `0`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":-1,"method":"ping"}`, request, `-1`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, request, `9007199254740993`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":"\u0061","method":"ping"}`, request, `"\u0061"`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`, request, `1`, "ping", `{}`, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params": {"a" : [1, 2]} }`, request, `1`, "ping", `{"a" : [1, 2]}`, ""},
		{`{"params":{"a":1},"method":"x/y","id":1,"jsonrpc":"2.0"}`, request, `1`, "x/y", `{"a":1}`, ""},
		{" \t\r\n{ \"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"m\" } \n", request, `1`, "m", "", ""},
		{`{"jsonrpc":"2.0","id":1,"\u006dethod":"p\u0069ng"}`, request, `1`, "ping", "", ""},
		{`{"jsonrpc":"2\u002e0","id":1,"method":"ping"}`, request, `1`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"été"}`, request, `1`, "été", "", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","Method":"n"}`, request, `1`, "m", "", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","method\u0000":"n"}`, request, `1`, "m", "", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","ID":2,"Params":[],"Result":1,"ERROR":{}}`, request, `1`, "m", "", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","extension":[{"deep":null}]}`, request, `1`, "m", "", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","":0}`, request, `1`, "m", "", ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, notification, "", "notifications/initialized", "", ""},
		{`{"jsonrpc":"2.0","method":"m","params":{"a":"b"}}`, notification, "", "m", `{"a":"b"}`, ""},
		{`{"jsonrpc":"2.0","method":"m","Id":1}`, notification, "", "m", "", ""},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, response, `1`, "", "", `{}`},
		{`{"jsonrpc":"2.0","id":"a","result":{"x":[true]}}`, response, `"a"`, "", "", `{"x":[true]}`},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, response, `1`, "", "", `null`},
		{`{"jsonrpc":"2.0","id":1,"result":"ok"}`, response, `1`, "", "", `"ok"`},
		{`{"jsonrpc":"2.0","id":1,"result":0}`, response, `1`, "", "", `0`},
		{`{"jsonrpc":"2.0","id":1,"result":[]}`, response, `1`, "", "", `[]`},
		{`{"jsonrpc":"2.0","id":1,"result":{},"Error":{}}`, response, `1`, "", "", `{}`},
	} {
		m, err := jsonrpc.Decode([]byte(tt.text), jsonrpc.Limits{})
		if err != nil {
			t.Errorf("Decode(%s): %v", tt.text, err)
			continue
		}
		if m.Kind != tt.kind || m.ID.Raw() != tt.id || m.Method != tt.method ||
			string(m.Params) != tt.params || string(m.Result) != tt.result || m.Error != nil {
			t.Errorf("Decode(%s) = %v %v %q %s %s %v", tt.text, m.Kind, m.ID, m.Method, m.Params, m.Result, m.Error)
		}
	}
}

func TestErrorResponsesThatAreAccepted(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-006b", "R-007")
	for _, tt := range []struct {
		text    string
		id      string
		code    int64
		message string
		data    string
	}{
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}`, `1`, -32600, "no", ""},
		{`{"jsonrpc":"2.0","id":"a","error":{"message":"","code":0}}`, `"a"`, 0, "", ""},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, "", -32700, "no", ""},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, "", -32700, "no", ""},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a\nb","data":{"k":[1]}}}`, `1`, 1, "a\nb", `{"k":[1]}`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":null}}`, `1`, 1, "m", `null`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":9007199254740991,"message":"m"}}`, `1`, 9007199254740991, "m", ""},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-9007199254740991,"message":"m"}}`, `1`, -9007199254740991, "m", ""},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","Code":2,"stack":[]}}`, `1`, 1, "m", ""},
	} {
		m, err := jsonrpc.Decode([]byte(tt.text), jsonrpc.Limits{})
		if err != nil {
			t.Errorf("Decode(%s): %v", tt.text, err)
			continue
		}
		if m.Kind != response || m.ID.Raw() != tt.id || m.Error == nil || m.Error.Code != tt.code ||
			m.Error.Message != tt.message || string(m.Error.Data) != tt.data || m.Result != nil {
			t.Errorf("Decode(%s) = %v %v %+v", tt.text, m.Kind, m.ID, m.Error)
		}
	}
}

// An envelope that is refused is JSON, so the answer is always -32600; the kind
// and the id say whether and how it can be answered.
func TestEnvelopesThatAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-001", "R-002", "R-006a", "R-006b")
	for _, tt := range []struct {
		text string
		kind jsonrpc.Kind
		id   string
	}{
		// Not an object.
		{`null`, invalid, ""},
		{`true`, invalid, ""},
		{`false`, invalid, ""},
		{`0`, invalid, ""},
		{`"ping"`, invalid, ""},
		{`[]`, invalid, ""},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, invalid, ""},

		// The version.
		{`{}`, invalid, ""},
		{`{"id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":2.0,"id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":2,"id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":"1.0","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":"2","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":"2.00","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":" 2.0","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":"2.0\u0000","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":"２.0","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":"","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":null,"id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":true,"id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":["2.0"],"id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc":{},"id":1,"method":"m"}`, request, `1`},
		{`{"JSONRPC":"2.0","id":1,"method":"m"}`, request, `1`},
		{`{"jsonRpc":"2.0","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc\u0000":"2.0","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpc ":"2.0","id":1,"method":"m"}`, request, `1`},
		{`{"jsonrpс":"2.0","id":1,"method":"m"}`, request, `1`}, // Cyrillic es
		{`{"method":"m"}`, notification, ""},
		{`{"id":1,"result":{}}`, response, `1`},

		// The shape.
		{`{"jsonrpc":"2.0"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":"x"}`, invalid, `"x"`},
		{`{"jsonrpc":"2.0","params":{}}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1,"params":{}}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","result":null}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","error":{"code":1,"message":"m"}}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","error":null}`, invalid, `1`},
		{`{"jsonrpc":"2.0","method":"m","result":{}}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"},"params":{}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"Method":"m"}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"METHOD":"m"}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"method\u0000":"m"}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"methſod":"m"}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"mеthod":"m"}`, invalid, `1`}, // Cyrillic ie
		{`{"jsonrpc":"2.0","id":1,"reſult":{}}`, invalid, `1`},  // folds to result
		{`{"jsonrpc":"2.0","id":1," method":"m"}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"Result":{}}`, invalid, `1`},
		{`{"jsonrpc":"2.0","id":1,"Error":{"code":1,"message":"m"}}`, invalid, `1`},

		// The method.
		{`{"jsonrpc":"2.0","id":1,"method":""}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":1}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":true}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":["m"]}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":{"m":1}}`, request, `1`},
		{`{"jsonrpc":"2.0","method":""}`, notification, ""},
		{`{"jsonrpc":"2.0","method":1}`, notification, ""},

		// The params.
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":1}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":"{}"}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":true}`, request, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":false}`, request, `1`},
		{`{"jsonrpc":"2.0","method":"m","params":[]}`, notification, ""},

		// The id of a request.
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":true,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":false,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":[],"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":[1],"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":{},"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":1e0,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":1E2,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":-0,"method":"m"}`, request, ""},
		{`{"jsonrpc":"2.0","id":0.0,"method":"m"}`, request, ""},

		// The id of a response. Only an error may lack one.
		{`{"jsonrpc":"2.0","result":{}}`, response, ""},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, response, ""},
		{`{"jsonrpc":"2.0","id":1.0,"result":{}}`, response, ""},
		{`{"jsonrpc":"2.0","id":true,"result":{}}`, response, ""},
		{`{"jsonrpc":"2.0","id":false,"error":{"code":1,"message":"m"}}`, response, ""},
		{`{"jsonrpc":"2.0","id":-0,"error":{"code":1,"message":"m"}}`, response, ""},
		{`{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":"m"}}`, response, ""},

		// The error object.
		{`{"jsonrpc":"2.0","id":1,"error":null}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":"no"}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":1}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":[]}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1e2,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-0,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":null,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":9007199254740992,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-9007199254740992,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":9223372036854775808,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":1}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":["m"]}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"Code":1,"message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"Message":"m"}}`, response, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code\u0000":1,"message":"m"}}`, response, `1`},
	} {
		err := mustRefuse(t, tt.text, jsonrpc.Limits{})
		if err.Code != jsonrpc.CodeInvalidRequest || err.Kind != tt.kind || err.ID.Raw() != tt.id {
			t.Errorf("Decode(%s) = %d %v %v (%s), want %d %v %s", tt.text,
				err.Code, err.Kind, err.ID, err.Reason, jsonrpc.CodeInvalidRequest, tt.kind, tt.id)
		}
	}
}

func TestDecodedValuesHaveNoSpareCapacity(t *testing.T) {
	t.Parallel()
	data := []byte(toolsCall)
	m, err := jsonrpc.Decode(data, jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_ = append(m.Params, '#')
	if string(data) != toolsCall {
		t.Errorf("appending to params changed the text to %s", data)
	}
}

func TestNullStandsForAnAbsentMember(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-006a")
	for _, tt := range []struct{ text, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`},
		{`{"jsonrpc":"2.0","method":"m","params": null }`, `{"jsonrpc":"2.0","method":"m"}`},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`},
	} {
		got, err := jsonrpc.Decode([]byte(tt.text), jsonrpc.Limits{})
		want, wantErr := jsonrpc.Decode([]byte(tt.want), jsonrpc.Limits{})
		if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Decode(%s) = %v, %v, want %v, %v", tt.text, got, err, want, wantErr)
		}
	}
}
