package secretform_test

import (
	"encoding/json/jsontext"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/secretform"
)

// What asks for a secret belongs to the field that it is in. What is in no field may belong to each of them.
func TestSecretsBelongToFields(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		message, schema string
		names           string
		all             bool
	}{
		{"?", `{"properties":{"b":{"type":"string"},"a":{"type":"string"}}}`, "", false},
		{"?", `{"properties":{"b":{"title":"Password"},"c":{"type":"string"},"a":{"title":"PIN"}}}`, "a b", false},
		{"?", `{"properties":{"a":{"allOf":[{"title":"Password"}]},"b":{"type":"string"}}}`, "a", false},
		{"?", `{"properties":{"a":{"properties":{"x":{"items":{"title":"Password"}}}},"b":{"type":"string"}}}`, "a", false},
		{"?", `{"properties":{"a":{"properties":{"password":{}}},"b":{"type":"string"}}}`, "a", false},
		{"?", `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"type":"string"}},"$defs":{"x":{"title":"Password"}}}`, "a b", true},
		{"?", `{"properties":{"a":{}},"allOf":[{"properties":{"password":{}}}]}`, "password", false},
		{"?", `{"properties":{"a":{}},"allOf":[{"properties":{"b":{"type":"string"}}},{"properties":{"b":{"title":"Password"}}}]}`, "b", false},
		{"?", `{"properties":[{"title":"Town"},{"title":"Password"}]}`, "0 1", true},
		{"Enter your PIN", `{"properties":{"n":{"type":"integer"},"s":{"type":"boolean"}}}`, "n", false},
		{"Enter your PIN", `{"properties":{"n":{"type":"integer"},"t":{"type":"string"},"k":{"title":"API key","type":"number"}}}`, "k t", false},
		{"Enter your PIN", `{"properties":{"o":{"properties":{"t":{"type":"string"}}}}}`, "o", false},
		{"Enter your PIN", `{"properties":{}}`, "", false},
		{"?", `{"properties":{"":{"title":"Password"}}}`, "", false},
		{"?", `{"properties":{"a":{}},"x":` + strings.Repeat("[", 7) + strings.Repeat("]", 7) + `}`, "", false},
		{"?", `{"properties":{"a":{}},"x":` + strings.Repeat("[", 8) + strings.Repeat("]", 8) + `}`, "a", true},
		{"?", `{"properties":{"a":{}},"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "", true},
		{"?", `{"properties":{"a":{},"a":{}}}`, "", true},
		{"?", `{"properties":{"a":`, "", true},
		{"?", `{"properties":{"a":{"title":"` + strings.Repeat("x", 256<<10) + `"}}}`, "", true},
		{strings.Repeat("x", 256<<10+1), `{"properties":{"t":{"type":"string"},"b":{"type":"boolean"}}}`, "t", false},
		{"Enter your PIN", "", "", false},
		{"Enter your PIN", "null", "", false},
		{"Enter your PIN", "[]", "", false},
	} {
		got := secretform.Read(jsontext.Value(test.schema)).Secrets(test.message)
		names := got.Names
		if test.names == "" && len(names) == 1 && names[0] == "" {
			names = nil
		}
		if !slices.Equal(names, strings.Fields(test.names)) || got.All != test.all {
			t.Errorf("%.50s %.200s: got %+v, want %s, all %t", test.message, test.schema, got, test.names, test.all)
		}
		if asks := len(got.Names) > 0 || got.All; asks != (got.First() != "") {
			t.Errorf("%.50s %.200s: got %+v with the first name %q", test.message, test.schema, got, got.First())
		}
		for _, name := range got.Names {
			if !got.Has(name) {
				t.Errorf("%.50s %.200s: got %+v without %q", test.message, test.schema, got, name)
			}
		}
		if got.Has("another") != test.all {
			t.Errorf("%.50s %.200s: got %+v, want another name to count: %t", test.message, test.schema, got, test.all)
		}
	}
}
