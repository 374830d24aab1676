package uritemplate_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

// FuzzParse checks that what is parsed can be expanded without any value, and
// that an expansion is a URI that its own literals cannot break.
func FuzzParse(f *testing.F) {
	for _, tt := range rfcExamples {
		f.Add(tt.template)
	}
	f.Add("{a:3*}")
	f.Add("é%C3%A9{a.b%41}")
	f.Fuzz(func(t *testing.T, text string) {
		template, err := uritemplate.Parse(text)
		if err != nil {
			if len(err.Error()) > 2048 || !utf8.ValidString(err.Error()) {
				t.Fatalf("error %q", err)
			}
			return
		}
		if template.String() != text {
			t.Fatalf("got %q, want %q", template, text)
		}
		uri, err := template.Expand(nil)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^`+"`{|}", r) }); i >= 0 {
			t.Fatalf("%q is not a URI", uri)
		}
		if len(template.Vars()) == 0 {
			if _, ok := template.Match(uri); !ok {
				t.Fatalf("%q does not match itself", text)
			}
		}
	})
}

// FuzzMatchExpand checks that values read from a URI stand for a URI that is
// read in the same way.
func FuzzMatchExpand(f *testing.F) {
	for _, tt := range rfcExamples {
		f.Add(tt.template, tt.uri)
	}
	f.Add("file:///{+path}", "file:///../%2e%2e/é")
	f.Add("{a}b{c}", "xb%62y")
	f.Add("a{?x*,y}{#z}", "a?x=1&x=&y=,#/")
	f.Fuzz(func(t *testing.T, text, uri string) {
		template, err := uritemplate.Parse(text)
		if err != nil {
			return
		}
		values, ok := template.Match(uri)
		if !ok {
			return
		}
		for name, value := range values {
			if !slices.Contains(template.Vars(), name) || !utf8.ValidString(value.String()) {
				t.Fatalf("%s of %q: %q = %q", text, uri, name, value)
			}
			if lossy(text, value) {
				return
			}
		}
		if repeats(template) || strings.Contains(text, ":") {
			return // The same URI may be read another way, in which they disagree.
		}
		once, err := template.Expand(values)
		if err != nil {
			t.Fatal(err)
		}
		again, ok := template.Match(once)
		if !ok {
			t.Fatalf("%s of %q: %s does not match as %q", text, uri, show(values), once)
		}
		if twice, err := template.Expand(again); twice != once || err != nil {
			t.Fatalf("%s of %q: %q became %q, %v", text, uri, once, twice, err)
		}
	})
}

// lossy reports whether expansion writes a value such that it is read as another
// one: {+x} leaves "%41" alone, and RFC 6570 leaves some separators unencoded.
func lossy(text string, value uritemplate.Value) bool {
	var unencoded string
	if strings.Contains(text, "{.") {
		unencoded = "."
	}
	if strings.Contains(text, "{+") || strings.Contains(text, "{#") {
		unencoded += "%,"
	}
	return slices.ContainsFunc(value.Strings(), func(item string) bool {
		return strings.ContainsAny(item, unencoded)
	})
}

// repeats reports whether a variable occurs more than once.
func repeats(template *uritemplate.Template) bool {
	text := template.String()
	return strings.Count(text, "{")+strings.Count(text, ",")-strings.Count(literals(text), ",") != len(template.Vars())
}

// literals returns the text outside of braces.
func literals(text string) string {
	var out strings.Builder
	for text != "" {
		literal, rest, _ := strings.Cut(text, "{")
		out.WriteString(literal)
		_, text, _ = strings.Cut(rest, "}")
	}
	return out.String()
}

// FuzzCheck checks that values that Check accepts stay below a directory, as paths of Unix
// and of Windows.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"a", "a/b", "..", "%2e%2e", "%2e%2e%2f", "..%5c", "%252e%252e%252f", "//etc", "C:/x", "c:%5c", "%00", "%c0%af", "／..", "..%20", ".%2e/x"} {
		f.Add(seed)
	}
	var templates []*uritemplate.Template
	for _, text := range []string{"f://{x}", "f://{+x}", "f:/{/x*}", "f://{a}{b}", "f://.{+x}"} {
		template, err := uritemplate.Parse(text)
		if err != nil {
			f.Fatal(err)
		}
		templates = append(templates, template)
	}
	f.Fuzz(func(t *testing.T, text string) {
		uri := "f://" + text
		for _, template := range templates {
			values, ok := template.Match(uri)
			if !ok || template.Check(uri, values, func(string) bool { return false }) != nil {
				continue
			}
			var joined string
			for _, name := range template.Vars() {
				joined += strings.Join(values[name].Strings(), "/")
			}
			if template.String() == "f://.{+x}" {
				joined = "." + joined
			}
			for _, local := range []string{joined, strings.ReplaceAll(joined, `\`, "/")} {
				if below := path.Join("/base", local); below != "/base" && !strings.HasPrefix(below, "/base/") || strings.Contains(local, "\x00") {
					t.Fatalf("%s of %q: %q leads to %q", template, uri, local, below)
				}
			}
		}
	})
}
