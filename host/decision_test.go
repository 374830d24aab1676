package host_test

import (
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
)

func TestArgumentsDigestIsOfTheirCanonicalForm(t *testing.T) {
	t.Parallel()
	digest := func(s string) string { return host.ArgumentsDigest(jsontext.Value(s)) }
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[2,"c"]}`, ` { "b" : [2, "\u0063"], "a" : 1 }`, true},
		{``, `{}`, true},
		{`{"n":9007199254740993}`, `{"n":9007199254740992}`, false},
		{`{"n":9007199254740993.0}`, `{"n":9007199254740992.0}`, false},
		{`{"n":1e-400}`, `{"n":0}`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{`, `{}`, false},
	} {
		if (digest(test.a) == digest(test.b)) != test.same {
			t.Errorf("%s and %s: got %s and %s, want the same: %v", test.a, test.b, digest(test.a), digest(test.b), test.same)
		}
	}
	arguments := jsontext.Value(`{"b":1,"a":2}`)
	if host.ArgumentsDigest(arguments); string(arguments) != `{"b":1,"a":2}` {
		t.Errorf("got %s, want the arguments unchanged", arguments)
	}
}

func TestClientNameIsPrintableAndShort(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, version, want string }{
		{"editor", "1.2", "editor 1.2"},
		{"editor", "", "editor"},
		{"a\nb\u202e", "\x1b[1m", `a\nb\u202e \u001b[1m`},
		{strings.Repeat("ä", 40), strings.Repeat("1", 40), strings.Repeat("ä", 32) + "… " + strings.Repeat("1", 32) + "…"},
		{"x" + strings.Repeat("ä", 40), "", "x" + strings.Repeat("ä", 31) + "…"},
	} {
		if got := host.ClientName(test.name, test.version); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
