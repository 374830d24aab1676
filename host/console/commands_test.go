package console_test

import (
	"go/format"
	"go/parser"
	"go/token"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/mcp"
)

// shownIn returns the text of an element of a page.
func shownIn(t *testing.T, page, id string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s) id="` + id + `">(.*?)</pre>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("got %s, want the element %s", page, id)
	}
	return html.UnescapeString(m[1])
}

func TestCallIsShownAsCommands(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object", "properties": {"from": {"type": "string"}}}`)
	b := enter(t, newConsole(t, s))
	_, page := b.post(toolPage, "/from", "T'RN")
	if want := html.EscapeString(`fondaco call air/book '{"from":"T'\''RN"}'`); !strings.Contains(page, want) {
		t.Errorf("got %s, want %s", page, want)
	}
	if got, want := shownIn(t, page, "curl"), `curl -sS http://127.0.0.1:7332/mcp -H 'Accept: it'\''s' -H 'Mcp-Method: tools/call' --data-raw '{"a": "it'\''s"}'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	long := strings.Repeat("x", console.MaxCommand)
	if _, page := b.post(toolPage, "/from", long); strings.Contains(page, `id="curl"`) || strings.Contains(page, "fondaco call") {
		t.Error("got a command of a long call, want none")
	}
	c := console.New(console.Options{Base: base, Source: s, NeedsToken: true})
	t.Cleanup(c.Close)
	_, page = enter(t, c).post(toolPage)
	if curl := shownIn(t, page, "curl"); !strings.Contains(curl, ` -H "Authorization: Bearer $FONDACO_TOKEN"`) {
		t.Errorf("got %s, want a variable for the token", curl)
	}
}

func TestProgramsInGoAreFormattedAndValid(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object", "properties": {"a": {"type": "string"}}}`)
	open := console.New(console.Options{Base: base, Source: s})
	protected := console.New(console.Options{Base: base, Source: s, NeedsToken: true})
	t.Cleanup(open.Close)
	t.Cleanup(protected.Close)
	for _, c := range []*console.Console{open, protected} {
		b := enter(t, c)
		for _, posted := range [][]string{
			{toolPage},
			{toolPage, "/a", "`%s\u202e\x00\"\n", "revision", "2025-06-18"},
			{"try/prompt?name=air__plan", "/to", "Oslo\n%d\"", "/when", "now"},
			{"try/prompt?name=air__plan"},
			{"try/resource", "uri", "status://\u202e\"%s"},
		} {
			_, page := b.post(posted[0], posted[1:]...)
			program := shownIn(t, page, "program")
			formatted, err := format.Source([]byte(program))
			if err != nil || string(formatted) != program {
				t.Errorf("%v: got %s, %v, want it formatted", posted, program, err)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), "main.go", program, 0); err != nil {
				t.Errorf("%v: got %s, %v", posted, program, err)
			}
		}
	}
}

func TestCallIsMadeInTheChosenRevision(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	for written, want := range map[string]mcp.Revision{"2025-06-18": mcp.V20250618, "": mcp.V20260728, "1999-01-01": mcp.V20260728} {
		_, page := b.post(toolPage, "revision", written)
		if s.request.Revision != want || !strings.Contains(page, "<option selected>"+want.String()) || !strings.Contains(page, "Made by a client of "+want.String()) {
			t.Errorf("%q: got %s, %s, want %s", written, s.request.Revision, page, want)
		}
		if inProgram := strings.Contains(shownIn(t, page, "program"), "Revisions: []mcp.Revision{mcp.V20250618}"); inProgram != (want == mcp.V20250618) {
			t.Errorf("%q: got %s, want the revision if it is not the newest", written, shownIn(t, page, "program"))
		}
	}
}

func TestWordsOfCommandsAreQuotedForTheShellOfTheSystem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ system, word, want string }{
		{"linux", "a,b", "a,b"},
		{"linux", "a'; id; '", `'a'\''; id; '\'''`},
		{"windows", "a:b", "a:b"},
		{"windows", "a,b", "'a,b'"},
		{"windows", "@a", "'@a'"},
		{"windows", "", "''"},
		{"windows", "a'; id; '", `'a''; id; '''`},
		{"windows", "a\u2019; id; \u2018\n", "'a\u2019\u2019; id; \u2018\u2018\\n'"},
	} {
		if got := console.ShellWord(test.system, test.word); got != test.want {
			t.Errorf("%s: %q: got %s, want %s", test.system, test.word, got, test.want)
		}
	}
}
