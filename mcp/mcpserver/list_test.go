package mcpserver_test

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// page reads one page of tools and returns their names and the next cursor.
func (w *wire) page(cursor string) (names []string, next string) {
	w.T.Helper()
	params := ""
	if cursor != "" {
		params = fmt.Sprintf(`{"cursor":%q}`, cursor)
	}
	result := w.Must("tools/list", params)
	for _, tool := range decoded[[]struct {
		Name string `json:"name"`
	}](w.T, jsontext.Value(at(w.T, result, "/tools"))) {
		names = append(names, tool.Name)
	}
	if raw := at(w.T, result, "/nextCursor"); raw != "" {
		next = decoded[string](w.T, jsontext.Value(raw))
	}
	return names, next
}

func numbered(srv *mcpserver.Server, count int) {
	srv.BatchChanges(func() {
		for i := range count {
			srv.Tool(fmt.Sprintf("t%04d", i), "", nothing)
		}
	})
}

func TestListIsPagedInOrder(t *testing.T) {
	claim.Shows(t, "R-205")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{PageSize: 2})
		for _, name := range []string{"d", "b", "a", "c", "e"} {
			srv.Tool(name, "", nothing)
		}
		w := dial(t, srv, r)
		var pages []string
		for cursor := ""; ; {
			names, next := w.page(cursor)
			pages = append(pages, strings.Join(names, ""))
			if cursor = next; cursor == "" {
				break
			}
		}
		if got := strings.Join(pages, " "); got != "ab cd e" {
			t.Errorf("got %s, want ab cd e", got)
		}
	})
}

func TestLastFullPageHasNoCursor(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{PageSize: 2})
		numbered(srv, 4)
		w := dial(t, srv, r)
		_, next := w.page("")
		if _, next = w.page(next); next != "" {
			t.Errorf("got cursor %q, want none", next)
		}
	})
}

func TestPageHoldsThousandByDefault(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		numbered(srv, 1001)
		w := dial(t, srv, r)
		first, next := w.page("")
		second, end := w.page(next)
		if len(first) != 1000 || len(second) != 1 || end != "" {
			t.Errorf("got %d, %d and cursor %q, want 1000, 1 and none", len(first), len(second), end)
		}
	})
}

func TestChangeBetweenPagesLosesAndRepeatsNothingElse(t *testing.T) {
	claim.Shows(t, "R-261a")
	for _, test := range []struct {
		name   string
		change func(*mcpserver.Server)
		want   string
	}{
		{"before", func(s *mcpserver.Server) { s.Tool("0", "", nothing); s.RemoveTool("a") }, "cd ef"},
		{"the last of the page", func(s *mcpserver.Server) { s.RemoveTool("b") }, "cd ef"},
		{"the first of the next", func(s *mcpserver.Server) { s.RemoveTool("c") }, "de f"},
		{"between", func(s *mcpserver.Server) { s.Tool("b1", "", nothing) }, "b1c de f"},
		{"all of the rest", func(s *mcpserver.Server) {
			for _, n := range []string{"c", "d", "e", "f"} {
				s.RemoveTool(n)
			}
		}, ""},
		{"replaced", func(s *mcpserver.Server) { _ = s.SetTool(mcp.Tool{Name: "c"}, rawNothing) }, "cd ef"},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				srv := newServer(&mcpserver.Options{PageSize: 2})
				for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
					srv.Tool(name, "", nothing)
				}
				w := dial(t, srv, r)
				_, cursor := w.page("")
				test.change(srv)
				var rest []string
				for cursor != "" {
					var names []string
					names, cursor = w.page(cursor)
					rest = append(rest, strings.Join(names, ""))
				}
				if got := strings.Join(rest, " "); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestCursorOutlivesTheServer(t *testing.T) {
	claim.Shows(t, "R-058", "R-261a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		replica := func() *wire {
			srv := newServer(&mcpserver.Options{PageSize: 2})
			numbered(srv, 3)
			return dial(t, srv, r)
		}
		_, cursor := replica().page("")
		if names, _ := replica().page(cursor); !slices.Equal(names, []string{"t0002"}) {
			t.Errorf("got %q, want t0002", names)
		}
	})
}

func TestEmptyCursorStandsForTheFirstPage(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{PageSize: 1})
		numbered(srv, 2)
		w := dial(t, srv, r)
		first := w.Must("tools/list", "")
		for _, params := range []string{`{"cursor":""}`, `{"cursor":null}`} {
			if got := w.Must("tools/list", params); string(got) != string(first) {
				t.Errorf("tools/list %s: got %s, want %s", params, got, first)
			}
		}
	})
}

func TestBadCursorIsInvalidParams(t *testing.T) {
	claim.Shows(t, "R-261b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{PageSize: 1})
		numbered(srv, 2)
		srv.Prompt("a", "", emptyPrompt)
		srv.Prompt("b", "", emptyPrompt)
		w := dial(t, srv, r)
		prompts := decoded[string](t, jsontext.Value(at(t, w.Must("prompts/list", ""), "/nextCursor")))
		for _, cursor := range []string{"x", "!!!", "2", base64.StdEncoding.EncodeToString([]byte("zt0001")), prompts} {
			w.Refused("tools/list", fmt.Sprintf(`{"cursor":%q}`, cursor), -32602)
		}
		w.Refused("tools/list", `{"cursor":1}`, -32602)
		w.Refused("tools/list", `{"cursor":["`+prompts+`"]}`, -32602)
	})
}

func TestEveryListIsPaged(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{PageSize: 1})
		for _, n := range []string{"a", "b"} {
			srv.Tool(n, "", nothing)
			srv.Prompt(n, "", emptyPrompt)
			srv.Resource("x://"+n, n, "", fixed(""))
			srv.Template("x://"+n+"/{airport}{?day}", n, "", timetable)
		}
		w := dial(t, srv, r)
		for method, member := range map[string]string{
			"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
		} {
			first := w.Must(method, "")
			second := w.Must(method, fmt.Sprintf(`{"cursor":%s}`, at(t, first, "/nextCursor")))
			if at(t, first, "/"+member+"/0/name") != `"a"` || at(t, second, "/"+member+"/0/name") != `"b"` || at(t, second, "/nextCursor") != "" {
				t.Errorf("%s: got %s and %s, want a and b", method, first, second)
			}
		}
	})
}

func TestListOfAKindThatWasNeverOfferedIsUnknown(t *testing.T) {
	claim.Shows(t, "R-036b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, newServer(nil), r)
		for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
			w.Refused(method, "", -32601)
		}
		w.Refused("tools/call", `{"name":"a"}`, -32601)
		w.Refused("prompts/get", `{"name":"a"}`, -32601)
		w.Refused("resources/read", `{"uri":"a://b"}`, -32601)
	})
}

func TestResourcesAndTemplatesAreOneCapability(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		one, other := newServer(nil), newServer(nil)
		one.Resource("a://b", "b", "", fixed(""))
		other.Template("a://{airport}{?day}", "b", "", timetable)
		for _, srv := range []*mcpserver.Server{one, other} {
			w := dial(t, srv, r)
			w.Must("resources/list", "")
			w.Must("resources/templates/list", "")
		}
	})
}

func TestEmptyListIsAList(t *testing.T) {
	claim.Shows(t, "R-204a", "R-204b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("a", "", nothing)
		srv.RemoveTool("a")
		if got := at(t, dial(t, srv, r).Must("tools/list", ""), "/tools"); got != "[]" {
			t.Errorf("got %s, want []", got)
		}
	})
}
