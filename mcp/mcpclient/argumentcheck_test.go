package mcpclient_test

import (
	"encoding/json/jsontext"
	"errors"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestArgumentsAreCheckedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	tool := mcp.Tool{Name: "t", InputSchema: []byte(`{"type":"object","required":["a"],"properties":{
		"a":{"type":"string","maxLength":2},"b":{"type":"array","items":{"type":"integer"}}}}`)}
	tests := map[string][]jsontext.Pointer{ // arguments → pointers of what is wrong
		`{"a":"x"}`:             nil,
		`{"a":"x","b":[1,2]}`:   nil,
		`{"a":"xyz"}`:           {"/a"},
		`{"a":"x","b":[1,"2"]}`: {"/b/1"},
		`{"a":1,"b":["2",{}]}`:  {"/a", "/b/0", "/b/1"},
		``:                      {""},
	}
	for arguments, want := range tests {
		var raw jsontext.Value
		if arguments != "" {
			raw = jsontext.Value(arguments)
		}
		err := mcpclient.CheckArguments(tool, raw)
		invalid, wrong := errors.AsType[*mcpclient.ValidationError](err)
		if wrong != (want != nil) || err != nil && !wrong {
			t.Errorf("%s: got %v, want faults at %q", arguments, err, want)
			continue
		}
		for i, pointer := range want {
			if len(invalid.Violations) != len(want) || invalid.Violations[i].Pointer != pointer || invalid.Violations[i].Message == "" {
				t.Errorf("%s: got %v, want faults at %q", arguments, err, want)
				break
			}
		}
	}
}

func TestArgumentsWithoutAUsableSchemaAreSent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"$ref":"https://example.com/other"}`, `{"type":7}`} {
		err := mcpclient.CheckArguments(mcp.Tool{Name: "t", InputSchema: []byte(text)}, nil)
		if _, wrong := errors.AsType[*mcpclient.ValidationError](err); err == nil || wrong {
			t.Errorf("%s: got %v, want an error about the schema", text, err)
		}
	}
}
