package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func TestParseIDKeepsTheText(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-005")
	for _, raw := range []string{
		`0`, `1`, `-1`, `10`, `9007199254740993`, `-9223372036854775809`, strings.Repeat("9", 256),
		`""`, `"1"`, `"a b"`, `"\u0061"`, `"\""`, `"é"`, `"\ud83d\ude00"`, `"` + strings.Repeat("x", 254) + `"`,
	} {
		id, err := jsonrpc.ParseID([]byte(raw))
		if err != nil {
			t.Errorf("ParseID(%s): %v", raw, err)
			continue
		}
		if id.Raw() != raw || id.String() != raw || id.IsZero() {
			t.Errorf("ParseID(%s) = %q", raw, id.Raw())
		}
	}
}

func TestParseIDRefusesInvalidIDs(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-002")
	for _, raw := range []string{
		``, ` `, `null`, `true`, `{}`, `[]`, `1.0`, `1e2`, `1E2`, `-0`, `01`, `-01`, `+1`, `-`, `1 `, ` 1`, `0x1`, `١`,
		`"`, `"a`, `a"`, `"a" `, `"a""`, `"\x"`, `"\ud800"`, "\"\xff\"", "\"a\nb\"",
		strings.Repeat("9", 257), `"` + strings.Repeat("x", 255) + `"`,
	} {
		if id, err := jsonrpc.ParseID([]byte(raw)); err == nil || !id.IsZero() {
			t.Errorf("ParseID(%q) = %v, %v, want an error and the zero ID", raw, id, err)
		}
	}
}

func TestKeyComparesTypeAndValue(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-005", "R-406b")
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`"a"`, `"\u0061"`, true},
		{`"é"`, `"\u00e9"`, true},
		{`"/"`, `"\/"`, true},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`"\\"`, `"\u005c"`, true},
		{`""`, `""`, true},
		{`1`, `1`, true},
		{`1`, `"1"`, false},
		{`0`, `""`, false},
		{`"a"`, `"A"`, false},
		{`"a"`, `"a\u0000"`, false},
		{`9007199254740992`, `9007199254740993`, false},
		{`"\\u0061"`, `"a"`, false},
	} {
		a, errA := jsonrpc.ParseID([]byte(tt.a))
		b, errB := jsonrpc.ParseID([]byte(tt.b))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if same := a.Key() == b.Key(); same != tt.same {
			t.Errorf("keys of %s and %s: got same %v, want %v", tt.a, tt.b, same, tt.same)
		}
	}
}

func TestZeroIDHasNoText(t *testing.T) {
	t.Parallel()
	var id jsonrpc.ID
	if !id.IsZero() || id.Raw() != "" || id.Key() != "" || id.String() != "null" {
		t.Errorf("got %v %q %q %q", id.IsZero(), id.Raw(), id.Key(), id.String())
	}
	empty, err := jsonrpc.ParseID([]byte(`""`))
	if err != nil || empty.IsZero() || empty.Key() == id.Key() {
		t.Errorf("the empty string is an id: got %q, %v", empty.Key(), err)
	}
}

func TestIDsAreFormattedAndParsed(t *testing.T) {
	t.Parallel()
	for _, id := range []jsonrpc.ID{
		jsonrpc.NumberID(0), jsonrpc.NumberID(-5), jsonrpc.NumberID(1<<63 - 1),
		jsonrpc.StringID(""), jsonrpc.StringID("7"), jsonrpc.StringID("a\"\\\n\x00é<&>"), jsonrpc.StringID("\xff"),
	} {
		parsed, err := jsonrpc.ParseID([]byte(id.Raw()))
		if err != nil || parsed.Key() != id.Key() {
			t.Errorf("ParseID(%s) = %v, %v", id.Raw(), parsed, err)
		}
	}
}
