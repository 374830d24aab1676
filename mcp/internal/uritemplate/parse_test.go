package uritemplate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

func TestParseErrorsSayWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ template, want string }{
		{"a{b", "byte 1: { has no }"},
		{"a}b", "byte 1: } has no {"},
		{"{a}}", "byte 3: } has no {"},
		{"a{}", "byte 2: the expression is empty"},
		{"{{a}}", `byte 1: variable "{a": '{' is not allowed in a name`},
		{"{=a}", "byte 1: operator '=' is reserved for extensions"},
		{"{!a}", "byte 1: operator '!' is reserved for extensions"},
		{"{|a}", "byte 1: operator '|' is reserved for extensions"},
		{"{+}", `byte 2: variable "": a name and each of its dotted parts must not be empty`},
		{"x{?a,}", `byte 5: variable "": a name and each of its dotted parts must not be empty`},
		{"{a,,b}", `byte 3: variable "": a name`},
		{"{.a..b}", `byte 2: variable "a..b": a name`},
		{"{a.}", `byte 1: variable "a.": a name`},
		{"{/a, b}", `byte 4: variable " b": ' ' is not allowed in a name`},
		{"{a-b}", `byte 1: variable "a-b": '-' is not allowed in a name`},
		{"{é}", `byte 1: variable "é": 'é' is not allowed in a name`},
		{"{a$}", `'$' is not allowed in a name`},
		{"{a%2}", `% does not begin the encoding of a character`},
		{"{a%ff}", `% does not begin the encoding of a character`},
		{"{a:0}", `prefix "0" is not a number from 1 to 9999`},
		{"{a:01}", `prefix "01" is not a number`},
		{"{a:10000}", `prefix "10000" is not a number`},
		{"{a:}", `prefix "" is not a number`},
		{"{a:x}", `prefix "x" is not a number`},
		{"{a:-1}", `prefix "-1" is not a number`},
		{"{a:+1}", `prefix "+1" is not a number`},
		{"{a:3*}", `prefix "3*" is not a number`},
		{"{a*:3}", "an exploded variable has no prefix"},
		{"{a**}", `'*' is not allowed in a name`},
		{"a b", "byte 1: ' ' is not allowed in a URI"},
		{"ab\x00", `byte 2: '\x00' is not allowed in a URI`},
		{"a\u0085", `byte 1: '\u0085' is not allowed in a URI`},
		{"a\xff", "byte 1: '�' is not allowed in a URI"},
		{`a\b`, `byte 1: '\\' is not allowed in a URI`},
		{"a%2", "byte 1: % does not begin the encoding of a character"},
		{"a%zz", "byte 1: % does not begin the encoding of a character"},
		{"a%c3", "byte 1: % does not begin the encoding of a character"},
		{strings.Repeat("a", 8193), "8193 bytes exceed the limit of 8192"},
		{strings.Repeat("{a}", 65), "65 variables exceed the limit of 64"},
	} {
		_, err := uritemplate.Parse(tt.template)
		if err == nil || !strings.HasPrefix(err.Error(), "parse template ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%.40q): got %v, want %s", tt.template, err, tt.want)
		}
		if err != nil && len(err.Error()) > 1024 {
			t.Errorf("Parse(%.40q): the error has %d bytes", tt.template, len(err.Error()))
		}
	}
}

func TestVarsAreInOrderAndNamedOnce(t *testing.T) {
	t.Parallel()
	for template, want := range map[string][]string{
		"":                           nil,
		"file:///a":                  nil,
		"{b}/{a}":                    {"b", "a"},
		"{a}{/b,a*}{?c:3,a,d.e,%41}": {"a", "b", "c", "d.e", "%41"},
		"{+path}{#path}":             {"path"},
	} {
		parsed := mustParse(t, template)
		if got := parsed.Vars(); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", template, got, want)
		}
		if parsed.String() != template {
			t.Errorf("got %q, want %q", parsed, template)
		}
	}
}

func TestValueShowsStringsAndLists(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value uritemplate.Value
		want  string
	}{
		{uritemplate.Value{}, "  [] false"},
		{uritemplate.List(), "  [] false"},
		{uritemplate.String("a"), "a [a] false"},
		{uritemplate.List("a", "b"), "a,b [a b] true"},
	} {
		got := fmt.Sprintf("%v %v %v", tt.value.String(), tt.value.Strings(), tt.value.IsList())
		if strings.TrimSpace(got) != strings.TrimSpace(tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
