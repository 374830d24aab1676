package uritemplate_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

func TestTemplateMatchesEqualURIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ template, uri, want string }{
		{"file:///a/{x}", "FILE:///a/b", `x="b"`},
		{"File:///a/{x}", "file:///a/b", `x="b"`},
		{"https://Example.com/a/{x}", "HTTPS://EXAMPLE.COM/a/B", `x="B"`},
		{"https://ada@Example.com:80/{x}", "https://ada@EXAMPLE.com:80/b", `x="b"`},
		{"https://{host}.Example.com/{x}", "https://API.example.COM/b", `host="API" x="b"`},
		{"note://{id}", "NOTE://README", `id="README"`},
		{"file:///a~b/{x}", "file:///a%7Eb/c", `x="c"`},
		{"file:///a%7eb/{x}", "file:///a~b/c", `x="c"`},
		{"file:///%c3%a9/{x}", "file:///%C3%A9/c", `x="c"`},
		{"file:///é/{x}", "file:///%c3%a9/c", `x="c"`},
		{"file:///{x}.{y}", "file:///a%2Eb", `x="a" y="b"`},
		{"file:///a/{x}", "file:///%61/%62%2f%2F", `x="b//"`},
		{"data{?a}", "data?a=%41", `a="A"`},
	} {
		template, err := uritemplate.Parse(tt.template)
		if err != nil {
			t.Fatal(err)
		}
		if values, ok := template.Match(tt.uri); !ok || show(values) != tt.want {
			t.Errorf("%s of %q: got %s, %v, want %s", tt.uri, tt.template, show(values), ok, tt.want)
		}
	}
	for _, tt := range []struct{ template, uri string }{
		{"file:///a/{x}", "file:///A/b"},                         // a path
		{"file:///a/{x}", "file:///./a/b"},                       // no segment is removed
		{"file:///a/{x}", "file:///c/../a/b"},                    //
		{"file:///a/b/{x}", "file:///a%2Fb/c"},                   // a reserved character
		{"https://ada@a.example/{x}", "https://ADA@a.example/b"}, // a user
		{"https://a.example/{x}", "https://a.example:443/b"},     // 6.2.3
		{"https://a.example{/x}B", "https://a.example/cb"},       // the path
		{"notes/{x}", "Notes/b"},                                 // no scheme
		{"{+base}/A/{x}", "file:///a/b"},                         //
		{"file:///{x}?q=A", "file:///b?q=a"},                     // the query
	} {
		template, err := uritemplate.Parse(tt.template)
		if err != nil {
			t.Fatal(err)
		}
		if values, ok := template.Match(tt.uri); ok {
			t.Errorf("%s of %q: got %s, want no match", tt.uri, tt.template, show(values))
		}
	}
}

func TestValuesOfEqualURIsAreCheckedAlike(t *testing.T) {
	t.Parallel()
	template, err := uritemplate.Parse("file:///a/{x}")
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"FILE:///a/..", "file:///%61/%2e%2E", "file:///a/b%2fc", "file:///a/b%2Fc", "file:///a/%2e."} {
		values, ok := template.Match(uri)
		if !ok {
			t.Errorf("%s: want a match", uri)
			continue
		}
		if err := template.Check(uri, values, func(string) bool { return false }); err == nil {
			t.Errorf("%s: got %s, want it refused", uri, show(values))
		}
	}
}

func TestEqualURIsHaveOneNormalForm(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"file:///a":                           "file:///a",
		"FILE://Host/A%7eb%c3%A9%2f":          "file://host/A~b%C3%A9%2F",
		"https://Ada:P%41ss@Example.COM:443/": "https://Ada:PAss@example.com:443/",
		"HTTPS://A.example?Q=%7E#F":           "https://a.example?Q=~#F",
		"URN:ISBN:1":                          "urn:ISBN:1",
		"notes/A":                             "notes/A",
		"file:///a/%2E%2e/b":                  "file:///a/../b",
		"a%":                                  "a%",
		"a%2":                                 "a%2",
		"%zz":                                 "%zz",
		"//Host/A":                            "//Host/A",
		"":                                    "",
	} {
		got := uritemplate.Normalize(uri)
		if got != want {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
		if again := uritemplate.Normalize(got); again != got {
			t.Errorf("%s: got %s and then %s, want one normal form", uri, got, again)
		}
	}
}
