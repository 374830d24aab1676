package mcpclient_test

import (
	"encoding/json/jsontext"
	"errors"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestFormIsCheckedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	const form = `{"type":"object","required":["row","meal"],"properties":{
		"row":{"type":"integer","maximum":40},"meal":{"type":"string","default":"none"},"window":{"type":"boolean"}}}`
	const optional = `{"type":"object","properties":{"row":{"type":"integer"}}}`
	for _, test := range []struct {
		schema, content string
		want            []jsontext.Pointer // of what is wrong
	}{
		{form, `{"row":4,"meal":"fish","window":true}`, nil},
		{form, `{"row":4}`, nil}, // the default counts as given
		{form, `{"row":400,"window":7}`, []jsontext.Pointer{"/row", "/window"}},
		{form, `{}`, []jsontext.Pointer{""}},
		{form, `null`, []jsontext.Pointer{""}},
		{form, ``, []jsontext.Pointer{""}},
		{form, `"4"`, []jsontext.Pointer{""}},
		{form, `[4]`, []jsontext.Pointer{""}},
		{optional, `{}`, nil},
		{optional, `null`, nil},
		{optional, ``, nil},
	} {
		var content jsontext.Value
		if test.content != "" {
			content = jsontext.Value(test.content)
		}
		err := mcpclient.CheckForm(jsontext.Value(test.schema), content)
		invalid, unfit := errors.AsType[*mcpclient.ValidationError](err)
		if unfit != (test.want != nil) || err != nil && !unfit {
			t.Errorf("%q: got %v, want violations at %q", test.content, err, test.want)
			continue
		}
		for i, pointer := range test.want {
			if v := invalid.Violations; len(v) != len(test.want) || v[i].Pointer != pointer || v[i].Message == "" || invalid.Subject != "content" {
				t.Errorf("%q: got %+v, want violations at %q", test.content, invalid, test.want)
				break
			}
		}
	}
}

func TestFormThatCannotBeCheckedIsNotCalledAnInvalidAnswer(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		``, `7`, `{"$ref":"https://example.com/other"}`, `{"type":"object","properties":{"town":{"type":"string","minLength":-1}}}`,
	} {
		err := mcpclient.CheckForm(jsontext.Value(schema), jsontext.Value(`{}`))
		if _, unfit := errors.AsType[*mcpclient.ValidationError](err); err == nil || unfit {
			t.Errorf("%s: got %v, want an error about the schema", schema, err)
		}
	}
}
