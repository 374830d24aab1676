package cli

import (
	"encoding/json/jsontext"
	"strings"
	"testing"
)

var schema = jsontext.Value(`{
	"type": "object",
	"properties": {
		"path":  {"type": "string", "description": "file to write\nin full"},
		"count": {"type": "integer"},
		"ratio": {"type": "number"},
		"force": {"type": "boolean"},
		"tags":  {"type": "array"},
		"where": {"type": "object"},
		"unit":  {"enum": ["km", "mi", 3]},
		"loose": {},
		"maybe": {"type": ["string", "null"]},
		"either": {"type": ["integer", "string"]},
		"odd":   true
	},
	"required": ["path"],
	"additionalProperties": false
}`)

func TestArgumentsAreParsedByTheSchema(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // words → arguments
		"path=a":                            `{"path":"a"}`,
		"path=1":                            `{"path":"1"}`,
		"path=":                             `{"path":""}`,
		"path=a=b":                          `{"path":"a=b"}`,
		`path="quoted"`:                     `{"path":"\"quoted\""}`,
		"path=true":                         `{"path":"true"}`,
		"path=a|count=12|ratio=1e3":         `{"path":"a","count":12,"ratio":1e3}`,
		"path=a|force=true":                 `{"path":"a","force":true}`,
		`path=a|tags=["x", 1]`:              `{"path":"a","tags":["x", 1]}`,
		`path=a|where={"a":{"b":[]}}`:       `{"path":"a","where":{"a":{"b":[]}}}`,
		"path=a|unit=mi":                    `{"path":"a","unit":"mi"}`,
		"path=a|unit=3":                     `{"path":"a","unit":3}`,
		"path=a|loose=5|maybe=null":         `{"path":"a","loose":5,"maybe":null}`,
		"path=a|loose=x y|maybe=x":          `{"path":"a","loose":"x y","maybe":"x"}`,
		"path=a|either=7|odd=[1]":           `{"path":"a","either":7,"odd":[1]}`,
		"path=a|either=seven|odd=word":      `{"path":"a","either":"seven","odd":"word"}`,
		"path=a|count=99999999999999999999": `{"path":"a","count":99999999999999999999}`,
	}
	args, err := readArguments(schema)
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range tests {
		got, err := args.fromPairs(strings.Split(words, "|"))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", words, got, err, want)
		}
	}
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // words → error
		"count=1":               `/path: missing, want a string: file to write`,
		"path":                  `found "path", want KEY=VALUE`,
		"=x":                    `found "=x", want KEY=VALUE`,
		"path=a|count=1.5":      `/count: found 1.5, want an integer`,
		"path=a|count=many":     `/count: found many, want an integer`,
		"path=a|ratio=NaN":      `/ratio: found NaN, want a number`,
		"path=a|force=yes":      `/force: found yes, want a boolean`,
		"path=a|tags=x":         `/tags: found x, want an array as JSON, such as '["a","b"]'`,
		"path=a|where=[]":       `/where: found [], want an object as JSON, such as '{"a":1}'`,
		`path=a|where={"a":1,}`: `want an object as JSON`,
		"path=a|unit=ly":        `/unit: found ly, want one of km, mi, 3`,
		"path=a|patj=b":         `odd (did you mean path?)`,
		"path=a|path=b":         `/path: given twice`,
		"path=\xff":             `/path: found`,
		"either=1|unknown=2":    "/unknown: unknown, want path, count, ratio, force, tags, where, unit, loose, maybe, either, odd\n/path: missing",
	}
	args, err := readArguments(schema)
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range tests {
		got, err := args.fromPairs(strings.Split(words, "|"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v, want %s", words, got, err, want)
		}
	}
}

func TestArgumentsAsJSONAreChecked(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want, fault string }{
		{text: `{"path": "a", "count": 1}`, want: `{"path":"a","count":1}`},
		{text: `{"path": 1}`, fault: `/path: found 1, want a string`},
		{text: `{}`, fault: `/path: missing`},
		{text: `[]`, fault: `arguments: want a JSON object`},
		{text: `{"path": "a"`, fault: `arguments: `},
		{text: `{"path": "a"} x`, fault: `nothing after it`},
		{text: `{"path": "a", "path": "b"}`, fault: `duplicate`},
		{text: `{"path": "a", "x": 1}`, fault: `/x: unknown`},
	}
	args, err := readArguments(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		got, err := args.fromJSON([]byte(test.text))
		if test.fault == "" && (err != nil || string(got) != test.want) {
			t.Errorf("%s: got %s, %v, want %s", test.text, got, err, test.want)
		}
		if test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)) {
			t.Errorf("%s: got %s, %v, want %s", test.text, got, err, test.fault)
		}
	}
}

func TestInvalidSchemasAllowAnything(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{}`, `{"type":"object"}`, `{"properties":{"a":{"type":7}}}`, `{"properties":{"a":{"enum":"x"}}}`} {
		args, err := readArguments(jsontext.Value(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		if got, err := args.fromPairs([]string{"a=1"}); err != nil || string(got) != `{"a":1}` {
			t.Errorf("%s: got %s, %v, want the argument as it is", schema, got, err)
		}
	}
}
