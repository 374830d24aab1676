package jsonrpc_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// nest returns arrays nested n deep.
func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestDepthIsLimited(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		text   string
		limits jsonrpc.Limits
		ok     bool
	}{
		{"128 levels", call(`{"a":` + nest(126) + `}`), jsonrpc.Limits{}, true},
		{"129 levels", call(`{"a":` + nest(127) + `}`), jsonrpc.Limits{}, false},
		{"128 opened", strings.Repeat("[", 128), jsonrpc.Limits{}, false},
		{"129 opened", strings.Repeat("[", 129), jsonrpc.Limits{}, false},
		{"a million arrays", strings.Repeat("[", 1e6), jsonrpc.Limits{}, false},
		{"a million objects", strings.Repeat(`{"a":`, 1e6), jsonrpc.Limits{}, false},
		{"a million arrays in params", call(`{"a":` + strings.Repeat("[", 1e6)), jsonrpc.Limits{}, false},
		{"3 levels of 3", call(`{"a":[]}`), jsonrpc.Limits{Depth: 3}, true},
		{"4 levels of 3", call(`{"a":[[]]}`), jsonrpc.Limits{Depth: 3}, false},
		{"more than the default", call(`{"a":` + nest(998) + `}`), jsonrpc.Limits{Depth: 1000}, true},
	} {
		_, err := jsonrpc.Decode([]byte(tt.text), tt.limits)
		if tt.ok {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		refusal, ok := errors.AsType[*jsonrpc.DecodeError](err)
		if !ok || refusal.Code != jsonrpc.CodeParse {
			t.Errorf("%s: got %v, want code %d", tt.name, err, jsonrpc.CodeParse)
		}
	}
}

func TestNumberOfValuesIsLimited(t *testing.T) {
	t.Parallel()
	// The message itself, its jsonrpc, id, method and params are 5 values.
	for _, tt := range []struct {
		name   string
		params string
		limit  int
		ok     bool
	}{
		{"as many as allowed", `{"a":1,"b":"x","c":null}`, 8, true},
		{"one too many", `{"a":1,"b":"x","c":null}`, 7, false},
		{"names do not count", `{"a":"a","b":"b"}`, 7, true},
		{"arrays count", `{"a":[[],{}]}`, 7, false},
		{"the default", `{"a":[` + strings.Repeat("0,", 99_993) + `0]}`, 0, true},
		{"above the default", `{"a":[` + strings.Repeat("0,", 99_994) + `0]}`, 0, false},
		{"4 MiB of arrays", `{"a":[` + strings.Repeat("[],", 4<<20/3) + `0]}`, 0, false},
	} {
		_, err := jsonrpc.Decode([]byte(call(tt.params)), jsonrpc.Limits{Elements: tt.limit})
		if tt.ok {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		refusal, ok := errors.AsType[*jsonrpc.DecodeError](err)
		if !ok || refusal.Code != jsonrpc.CodeInvalidRequest || refusal.Kind != request || refusal.ID.Raw() != "1" {
			t.Errorf("%s: got %+v, want code %d for request 1", tt.name, refusal, jsonrpc.CodeInvalidRequest)
		}
	}
}

func TestOversizedResultNamesItsCall(t *testing.T) {
	t.Parallel()
	err := mustRefuse(t, `{"jsonrpc":"2.0","id":7,"result":[1,2,3]}`, jsonrpc.Limits{Elements: 5})
	if err.Kind != response || err.ID.Raw() != "7" {
		t.Errorf("got %v %v, want response 7", err.Kind, err.ID)
	}
}

func TestSizeIsCheckedWhenSet(t *testing.T) {
	t.Parallel()
	text := call(`{}`)
	if _, err := jsonrpc.Decode([]byte(text), jsonrpc.Limits{Size: len(text)}); err != nil {
		t.Error(err)
	}
	err := mustRefuse(t, text, jsonrpc.Limits{Size: 57})
	if want := "decode: 58 bytes exceed the limit of 57"; err.Code != jsonrpc.CodeInvalidRequest || err.Error() != want {
		t.Errorf("got %d %v, want %d %s", err.Code, err, jsonrpc.CodeInvalidRequest, want)
	}
	if _, err := jsonrpc.DecodeBatch([]byte("["+text+"]"), jsonrpc.Limits{Size: len(text)}); err == nil {
		t.Error("batch over the size was accepted")
	}
	if err := jsonrpc.CheckValue([]byte(`[1]`), jsonrpc.Limits{Size: 2}); err == nil {
		t.Error("value over the size was accepted")
	}
}

func TestNumbersThatParsersDisagreeOnAreRefused(t *testing.T) {
	t.Parallel()
	for _, number := range []string{
		`1e400`, `-1e400`, `1E+400`, `1e309`, `0.1e400`,
		`1e` + strings.Repeat("0", 20) + `1`,
		`0e` + strings.Repeat("9", 21),
		`1e-` + strings.Repeat("9", 21),
		strings.Repeat("9", 400),
		strings.Repeat("9", 1025),
		`0.` + strings.Repeat("1", 1023),
		strings.Repeat("7", 10<<20),
		`0.` + strings.Repeat("7", 10<<20),
	} {
		for _, text := range []string{
			call(`{"a":` + number + `}`),
			`{"jsonrpc":"2.0","id":` + number + `,"method":"m"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":` + number + `,"message":"m"}}`,
			number,
		} {
			if err := mustRefuse(t, text, jsonrpc.Limits{}); err.Code != jsonrpc.CodeInvalidRequest {
				t.Errorf("%.60s: got %d (%s), want %d", text, err.Code, err.Reason, jsonrpc.CodeInvalidRequest)
			}
		}
	}
}

func TestRefusedBombAllocatesLittle(t *testing.T) {
	// Not parallel: it reads the allocation counter of the process.
	for _, text := range []string{
		strings.Repeat("[", 4<<20),
		call(`{"a":[` + strings.Repeat("[],", 4<<20/3) + `0]}`),
		call(`{"a":` + strings.Repeat("7", 4<<20) + `}`),
	} {
		data := []byte(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err == nil {
			t.Fatalf("Decode(%.20s…) was accepted", text)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
			t.Errorf("Decode(%.20s…) allocated %d bytes, want less than 1 MiB", text, grown)
		}
	}
}
