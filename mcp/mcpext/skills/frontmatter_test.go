package skills

import (
	"encoding/json/jsontext"
	"strings"
	"testing"
)

func TestFrontmatterIsConvertedToJSON(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		"a: b":                         `{"a":"b"}`,
		"a: yes\nb: on\nc: True":       `{"a":"yes","b":"on","c":true}`,
		"a: ~\nb:\nc: null":            `{"a":null,"b":null,"c":null}`,
		"a: 1.10\nb: 0x10\nc: 012":     `{"a":1.10,"b":16,"c":12}`,
		"a: 2026-01-26":                `{"a":"2026-01-26"}`,
		"a: \"1\"\nb: '2'":             `{"a":"1","b":"2"}`,
		"a: >-\n  one\n  two":          `{"a":"one two"}`,
		"a: |\n  one\n  two":           `{"a":"one\ntwo\n"}`,
		"a: [b, 1, {c: d}]":            `{"a":["b",1,{"c":"d"}]}`,
		"a:\n  - b\n  - c # no":        `{"a":["b","c"]}`,
		"a: one\n  two":                `{"a":"one two"}`,
		"'a b': c\n1: d":               `{"a b":"c","1":"d"}`,
		"a: \"\\u00e9\\x41\"":          `{"a":"éA"}`,
		"a: 1_000\nb: 1:30\nc: 0b1":    `{"a":"1_000","b":"1:30","c":"0b1"}`,
		"a: .5\nb: +1\nc: 1.\nd: 1e3":  `{"a":0.5,"b":1,"c":1,"d":1e3}`,
		"a: http://example.com/#b # c": `{"a":"http://example.com/#b"}`,
	} {
		for _, newline := range []string{"\n", "\r\n"} {
			text := strings.ReplaceAll("---\n"+yaml+"\n---\nbody\n---\n", "\n", newline)
			got, err := frontmatter([]byte(text))
			if err != nil || string(got) != want {
				t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
			}
		}
	}
}

func TestFrontmatterWithoutAJSONFormIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":             "",
		"no mapping":        "---\n- a\n---\n",
		"nothing":           "---\n---\n",
		"a scalar":          "---\na\n---\n",
		"not at the start":  "\n---\na: b\n---\n",
		"a reference":       "---\na: &x b\nc: *x\n---\n",
		"laughs":            "---\na: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n---\n",
		"a merge":           "---\na: {b: c}\n<<: {d: e}\n---\n",
		"a tag":             "---\na: !!binary aGk=\n---\n",
		"a tag of its own":  "---\na: !exec b\n---\n",
		"twice":             "---\na: b\na: c\n---\n",
		"infinite":          "---\na: .inf\n---\n",
		"beyond 64 bits":    "---\na: 0xfffffffffffffffffff\n---\n",
		"a mapping as key":  "---\n? {a: b}\n: c\n---\n",
		"several documents": "---\na: b\n...\nc: d\n---\n",
		"deep":              "---\na: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n---\n",
		"deeper":            "---\na: " + strings.Repeat("[", 30_000) + "\n---\n",
		"broken":            "---\na: [b\n---\n",
	} {
		if got, err := frontmatter([]byte(text)); err == nil {
			t.Errorf("%s: got %s, want an error", name, got)
		}
	}
}

func TestEqualFieldsInAnyOrderAreEqual(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":"é"}`, `{"b":"\u00e9","a":1.0}`, true},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":1}`, `{"a":1`, false},
	} {
		if got := sameJSON(jsontext.Value(test.a), jsontext.Value(test.b)); got != test.same {
			t.Errorf("%s and %s: got %v, want %v", test.a, test.b, got, test.same)
		}
	}
}

func FuzzFrontmatter(f *testing.F) {
	f.Add("---\nname: x\ndescription: >\n  a\n---\n")
	f.Add("---\na: [b, {c: 'd'}]\n1: 0x10\n---\n")
	f.Add("---\n? a\n: &b *b\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := frontmatter([]byte(text))
		if err == nil && (!got.IsValid() || got.Kind() != '{') {
			t.Errorf("%q: got %s, want a JSON object", text, got)
		}
		if err == nil && !sameJSON(got, got) {
			t.Errorf("%q: %s is not the same as itself", text, got)
		}
	})
}
