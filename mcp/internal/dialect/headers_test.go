package dialect_test

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// paramHeaders are the values by the name of the parameter.
type paramHeaders map[string][]string

func (h paramHeaders) Param(name string) []string { return h[name] }

func TestHeaderValuesAreEncodedWhereTheyMustBe(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-144", "D-14")
	for _, test := range []struct{ value, want string }{
		{"", ""},
		{"add", "add"},
		{"files/read me", "files/read me"},
		{" leading", "=?base64?IGxlYWRpbmc=?="},
		{"trailing ", "=?base64?dHJhaWxpbmcg?="},
		{"tab\tinside", "=?base64?dGFiCWluc2lkZQ==?="},
		{"caffè", "=?base64?Y2FmZsOo?="},
		{"line\nbreak", "=?base64?bGluZQpicmVhaw==?="},
		{"del\x7f", "=?base64?ZGVsfw==?="},
		{"=?base64?YWRk?=", "=?base64?PT9iYXNlNjQ/WVdSaz89?="},
		{"=?base64?", "=?base64?"},
		{"a=?base64?YWRk?=", "a=?base64?YWRk?="},
	} {
		got := dialect.EncodeHeader(test.value)
		if got != test.want {
			t.Errorf("encode %q: got %q, want %q", test.value, got, test.want)
		}
		if back, ok := dialect.DecodeHeader(got); !ok || back != test.value {
			t.Errorf("decode %q: got %q, %v, want %q", got, back, ok, test.value)
		}
	}
}

func TestHeaderValuesThatNoEncoderWritesAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-142c", "R-145")
	for _, value := range []string{
		"=?base64?SGVsbG8?=",    // no padding
		"=?base64?SGVs bG8=?=",  // not of the alphabet
		"=?base64?SGVsbG9=?=",   // trailing bits
		"=?base64?/w==?=",       // not UTF-8
		"=?base64?SGVs\nbG8=?=", // Go's decoder skips newlines
		"bell\x07",              // control character
		"caffè",                 // not ASCII, and not encoded
		"\xff",
	} {
		if got, ok := dialect.DecodeHeader(value); ok {
			t.Errorf("decode %q: got %q, want it refused", value, got)
		}
	}
	for _, literal := range []string{"=?BASE64?SGVsbG8=?=", "=?base64?SGVsbG8=", "SGVsbG8=?="} {
		if got, ok := dialect.DecodeHeader(literal); !ok || got != literal {
			t.Errorf("decode %q: got %q, %v, want it literal", literal, got, ok)
		}
	}
}

func FuzzHeaderRoundTrip(f *testing.F) {
	for _, seed := range []string{"", "a", " a", "=?base64?YQ==?=", "\xff", "ü"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		encoded := dialect.EncodeHeader(value)
		for _, c := range []byte(encoded) {
			if c < ' ' || c > '~' {
				t.Fatalf("encode %q: got %q, want plain ASCII", value, encoded)
			}
		}
		back, ok := dialect.DecodeHeader(encoded)
		if valid := string([]rune(value)) == value; ok != valid || ok && back != value {
			t.Fatalf("%q came back as %q, %v", value, back, ok)
		}
	})
}

func TestMirroredParametersAreComparedWithTheBody(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-142b", "R-142c", "R-145", "R-147c", "R-149b", "R-149c", "R-150", "D-14", "D-15", "G-d")
	mirrors := []dialect.Mirror{{Name: "Region", Path: []string{"where", "region"}}, {Name: "Count", Path: []string{"count"}}}
	for _, test := range []struct {
		name      string
		arguments string
		headers   map[string][]string
		ok        bool
	}{
		{"both", `{"where":{"region":"eu"},"count":42}`, map[string][]string{"Region": {"eu"}, "Count": {"42"}}, true},
		{"number written otherwise", `{"where":{"region":"eu"},"count":42}`, map[string][]string{"Region": {"eu"}, "Count": {"42.0"}}, true},
		{"the largest that is exact", `{"count":-9007199254740991}`, map[string][]string{"Count": {"-9007199254740991"}}, true},
		{"beyond what is exact", `{"count":9007199254740992}`, map[string][]string{"Count": {"9007199254740992"}}, false},
		{"encoded", `{"where":{"region":"eu"},"count":42}`, map[string][]string{"Region": {"=?base64?ZXU=?="}, "Count": {"42"}}, true},
		{"absent in both", `{}`, nil, true},
		{"null is absent", `{"where":{"region":null}}`, nil, true},
		{"header missing", `{"where":{"region":"eu"}}`, nil, false},
		{"body missing", `{}`, map[string][]string{"Region": {"eu"}}, false},
		{"different", `{"where":{"region":"eu"}}`, map[string][]string{"Region": {"us"}}, false},
		{"twice", `{"where":{"region":"eu"}}`, map[string][]string{"Region": {"eu", "eu"}}, false},
		{"bad encoding", `{"where":{"region":"eu"}}`, map[string][]string{"Region": {"=?base64?ZXU?="}}, false},
		{"string that looks like a number", `{"where":{"region":"42"}}`, map[string][]string{"Region": {"42.0"}}, false},
		{"number with a sign", `{"count":42}`, map[string][]string{"Count": {"+42"}}, false},
		{"number with a zero in front", `{"count":42}`, map[string][]string{"Count": {"042"}}, false},
		{"number as exponent", `{"count":100}`, map[string][]string{"Count": {"1e2"}}, false},
		{"exponent in the body", `{"count":1e2}`, map[string][]string{"Count": {"100"}}, true},
		{"zeros in the body", `{"count":42.00}`, map[string][]string{"Count": {"42"}}, true},
		{"huge exponent in the body", `{"count":1e300}`, map[string][]string{"Count": {"1"}}, false},
		{"not ASCII", `{"where":{"region":"é"}}`, map[string][]string{"Region": {"é"}}, false},
		{"not ASCII, encoded", `{"where":{"region":"é"}}`, map[string][]string{"Region": {"=?base64?w6k=?="}}, true},
	} {
		call := &dialect.Call{
			Facts:   dialect.Of(mcp.V20260728),
			Headers: &dialect.Headers{Params: paramHeaders(test.headers)},
		}
		err := call.CheckParams(mirrors, jsontext.Value(test.arguments))
		if (err == nil) != test.ok {
			t.Errorf("%s: got %v, want ok %v", test.name, err, test.ok)
		}
		if err != nil && mcp.CodeOf(err) != mcp.CodeHeaderMismatch {
			t.Errorf("%s: got %v, want a header mismatch", test.name, err)
		}
	}
}
