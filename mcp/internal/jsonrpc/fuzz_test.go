package jsonrpc_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// encode writes m back.
func encode(m jsonrpc.Message) []byte {
	switch {
	case m.Kind == request:
		return jsonrpc.AppendRequest(nil, m.ID, m.Method, m.Params)
	case m.Kind == notification:
		return jsonrpc.AppendNotification(nil, m.Method, m.Params)
	case m.Error != nil:
		return jsonrpc.AppendError(nil, m.ID, m.Error)
	}
	return jsonrpc.AppendResult(nil, m.ID, m.Result)
}

// FuzzDecode checks that what is accepted means the same to a second parser,
// at the latest after it was written anew, and that writing it back changes nothing
// more after the first time.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		toolsCall,
		"{\r\n\"jsonrpc\": \"2.0\",\n\"method\": \"n\", \"params\": {\n}}",
		`{"jsonrpc":"2.0","id":"\u0061","result":{"a":[1e3,-0,null]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no","data":[1]}}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method\u0000":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1e400}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"m"},1]`,
		"\xef\xbb\xbf{}",
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud800","name":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":{"c":1,"c":"\udc00"},"a":[2]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := jsonrpc.Decode(data, jsonrpc.Limits{})
		checkBatchAgrees(t, data, m, err)
		if err != nil {
			refusal, ok := errors.AsType[*jsonrpc.DecodeError](err)
			if !ok || len(refusal.Reason) >= 1024 || !utf8.ValidString(refusal.Reason) {
				t.Fatalf("refused with %q", err)
			}
			return
		}
		once := encode(m)
		var second any
		if err := json.Unmarshal(once, &second); err != nil {
			t.Fatalf("json/v2 refuses %s: %v", once, err)
		}
		again, err := jsonrpc.Decode(once, jsonrpc.Limits{})
		if err != nil {
			t.Fatalf("refused its own text %s: %v", once, err)
		}
		if again.Kind != m.Kind || again.ID.Raw() != m.ID.Raw() || again.Method != m.Method {
			t.Fatalf("%s became %s", data, once)
		}
		if twice := encode(again); !bytes.Equal(once, twice) || bytes.ContainsAny(once, "\r\n") {
			t.Fatalf("%q became %q", once, twice)
		}
	})
}

// checkBatchAgrees wraps data into a batch of one and compares the verdicts. An
// array is one level deeper and one value more, so limits may tell them apart.
func checkBatchAgrees(t *testing.T, data []byte, m jsonrpc.Message, err error) {
	t.Helper()
	limits := jsonrpc.Limits{Depth: 129, Elements: 100_001}
	items, batchErr := jsonrpc.DecodeBatch(append(append([]byte{'['}, data...), ']'), limits)
	switch {
	case err != nil:
		if batchErr == nil && len(items) == 1 && items[0].Err == nil {
			t.Fatalf("%q is refused alone (%v), accepted in a batch", data, err)
		}
	case batchErr != nil || len(items) != 1 || items[0].Err != nil:
		t.Fatalf("%q is accepted alone, refused in a batch: %v", data, batchErr)
	case items[0].Message.Kind != m.Kind || items[0].Message.ID.Raw() != m.ID.Raw():
		t.Fatalf("%q differs in a batch", data)
	}
}

// FuzzID checks that an id survives a round trip byte for byte, and that keys
// agree with a second parser on which ids are the same.
func FuzzID(f *testing.F) {
	f.Add([]byte(`1`), []byte(`"1"`))
	f.Add([]byte(`"a"`), []byte(`"\u0061"`))
	f.Add([]byte(`-0`), []byte(`9007199254740993`))
	f.Fuzz(func(t *testing.T, rawA, rawB []byte) {
		a, errA := jsonrpc.ParseID(rawA)
		b, errB := jsonrpc.ParseID(rawB)
		if errA != nil || errB != nil {
			return
		}
		m, err := jsonrpc.Decode(jsonrpc.AppendResult(nil, a, nil), jsonrpc.Limits{})
		if err != nil || m.ID.Raw() != string(rawA) {
			t.Fatalf("id %q came back as %q, %v", rawA, m.ID.Raw(), err)
		}
		if same := a.Key() == b.Key(); same != equalJSON(t, rawA, rawB) {
			t.Fatalf("keys of %q and %q: same is %v", rawA, rawB, same)
		}
	})
}

// equalJSON compares two ids by another parser: strings decoded, integers by
// their digits.
func equalJSON(t *testing.T, rawA, rawB []byte) bool {
	t.Helper()
	if rawA[0] != '"' || rawB[0] != '"' {
		return bytes.Equal(rawA, rawB)
	}
	var a, b string
	if err := errors.Join(json.Unmarshal(rawA, &a), json.Unmarshal(rawB, &b)); err != nil {
		t.Fatal(err)
	}
	return a == b
}

// FuzzBatch checks that the items of a batch are those of a second parser, each
// with the verdict that it has alone, and that no batch is larger than it may be.
func FuzzBatch(f *testing.F) {
	f.Add([]byte("[" + toolsCall + "]"))
	f.Add([]byte("[" + toolsCall + ",7," + toolsCall + "]"))
	f.Add([]byte(`[[],{},null,{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}]`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`[1,`))
	f.Fuzz(func(t *testing.T, data []byte) {
		items, err := jsonrpc.DecodeBatch(data, jsonrpc.Limits{})
		if err != nil {
			return
		}
		var second []jsontext.Value
		if err := json.Unmarshal(data, &second, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil || len(second) != len(items) {
			t.Fatalf("%q: got %d items, a second parser %d, %v", data, len(items), len(second), err)
		}
		used := make(map[string]bool)
		for i, item := range items {
			alone, err := jsonrpc.Decode(second[i], jsonrpc.Limits{})
			repeated := err == nil && alone.Kind == request && used[alone.ID.Key()]
			if (err == nil && !repeated) != (item.Err == nil) || item.Err == nil && alone.ID.Raw() != item.Message.ID.Raw() {
				t.Fatalf("%q: item %d: got %v, alone %v", data, i, item.Err, err)
			}
			used[alone.ID.Key()] = err == nil && alone.Kind == request || used[alone.ID.Key()]
		}
	})
}
