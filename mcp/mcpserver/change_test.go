package mcpserver_test

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestEveryChangeOfAListIsAnnounced(t *testing.T) {
	claim.Shows(t, "R-206", "R-234", "R-238")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := everything(nil)
		w := dial(t, srv, r)
		watchLists(w)
		for _, test := range []struct {
			name   string
			change func()
			method string
		}{
			{"add", func() { srv.Tool("new", "", nothing) }, "tools"},
			{"replace", func() { _ = srv.SetTool(mcp.Tool{Name: "new"}, rawNothing) }, "tools"},
			{"off", func() { srv.EnableTool("new", false) }, "tools"},
			{"off again", func() { srv.EnableTool("new", false) }, ""},
			{"on", func() { srv.EnableTool("new", true) }, "tools"},
			{"remove", func() { srv.RemoveTool("new") }, "tools"},
			{"remove again", func() { srv.RemoveTool("new") }, ""},
			{"prompt", func() { srv.Prompt("new", "", plan) }, "prompts"},
			{"prompt replaced", func() { _ = srv.SetPrompt(mcp.Prompt{Name: "new"}, nil) }, ""},
			{"prompt off", func() { srv.EnablePrompt("new", false) }, "prompts"},
			{"prompt on", func() { srv.EnablePrompt("new", true) }, "prompts"},
			{"prompt on again", func() { srv.EnablePrompt("new", true) }, ""},
			{"prompt removed", func() { srv.RemovePrompt("new") }, "prompts"},
			{"resource", func() { srv.Resource("x://new", "new", "", fixed("")) }, "resources"},
			{"resource replaced", func() { _ = srv.SetResource(mcp.Resource{URI: "x://new", Name: "n"}, readRaw(nil, nil)) }, "resources"},
			{"resource off", func() { srv.EnableResource("x://new", false) }, "resources"},
			{"resource on", func() { srv.EnableResource("x://new", true) }, "resources"},
			{"resource removed", func() { srv.RemoveResource("x://new") }, "resources"},
			{"template", func() { srv.Template("x://{airport}{?day}", "new", "", timetable) }, "resources"},
			{"template replaced", func() {
				_ = srv.SetTemplate(mcp.ResourceTemplate{URITemplate: "x://{airport}{?day}", Name: "n"}, readRaw(nil, nil))
			}, "resources"},
			{"template off", func() { srv.EnableTemplate("x://{airport}{?day}", false) }, "resources"},
			{"template on", func() { srv.EnableTemplate("x://{airport}{?day}", true) }, "resources"},
			{"template removed", func() { srv.RemoveTemplate("x://{airport}{?day}") }, "resources"},
			{"both kinds of resource", func() {
				srv.BatchChanges(func() {
					srv.Resource("x://new", "new", "", fixed(""))
					srv.Template("x://{airport}{?day}", "new", "", timetable)
				})
			}, "resources"},
		} {
			test.change()
			if test.method != "" {
				m := w.Notification("notifications/" + test.method + "/list_changed")
				if got := at(t, m.Params, "/_meta/io.modelcontextprotocol~1subscriptionId"); (got == "1") != isModern(r) {
					t.Errorf("%s: got %s, want the id of the subscription in its era", test.name, m.Raw)
				}
			}
			w.Quiet()
		}
	})
}

func TestManyChangesAreTheFirstAndTheLastEvent(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := everything(nil)
		w := dial(t, srv, r)
		watchLists(w)
		synctest.Wait()
		begin := time.Now()
		for i := range 40 {
			srv.Tool(fmt.Sprint("t", i), "", nothing)
			time.Sleep(time.Millisecond)
		}
		w.Notification("notifications/tools/list_changed")
		w.Notification("notifications/tools/list_changed")
		if took := time.Since(begin); took != 50*time.Millisecond {
			t.Errorf("got the second after %v, want 50ms", took)
		}
		w.Quiet()
		srv.Tool("later", "", nothing)
		synctest.Wait()
		begin = time.Now()
		w.Notification("notifications/tools/list_changed")
		if took := time.Since(begin); took != 0 {
			t.Errorf("got a lone change after %v, want it at once", took)
		}
	})
}

func TestChangeIsOneEvent(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := everything(nil)
		w := dial(t, srv, r)
		watchLists(w)
		srv.BatchChanges(func() {
			srv.Tool("a", "", nothing)
			time.Sleep(time.Second)
			srv.BatchChanges(func() { srv.Tool("b", "", nothing) })
			srv.Tool("c", "", nothing)
			time.Sleep(time.Second)
			w.Quiet()
		})
		w.Notification("notifications/tools/list_changed")
		w.Quiet()
		if names, _ := w.page(""); strings.Join(names, " ") != "a b c echo" {
			t.Errorf("got %q, want all", names)
		}
	})
}

func TestChangeThatPanicsIsAnnounced(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := everything(nil)
		w := dial(t, srv, r)
		watchLists(w)
		panicText(t, func() {
			srv.BatchChanges(func() {
				srv.Tool("a", "", nothing)
				panic("oops")
			})
		})
		w.Notification("notifications/tools/list_changed")
		srv.Tool("b", "", nothing)
		w.Notification("notifications/tools/list_changed")
	})
}

func TestSlowClientDelaysNoOtherClient(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := everything(nil)
		slow, w := dial(t, srv, r), dial(t, srv, r)
		watchLists(slow)
		watchLists(w)
		for range 200 { // more than its pipe holds
			srv.EnableTool("echo", false)
			srv.EnableTool("echo", true)
			w.Notification("notifications/tools/list_changed")
			time.Sleep(60 * time.Millisecond)
			for len(w.Held) > 0 {
				w.Read()
			}
			synctest.Wait()
			drainNotes(w)
		}
		w.Must("tools/list", "")
	})
}

// drainNotes reads what has come already.
func drainNotes(w *wire) {
	w.Must("tools/list", "")
	w.Held = nil
}

func TestRegisteringUnderLoadIsSafe(t *testing.T) {
	t.Parallel()
	for _, r := range eras {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			srv := everything(&mcpserver.Options{PageSize: 3})
			w := dial(t, srv, r)
			watchLists(w)
			done := make(chan struct{})
			var changes sync.WaitGroup
			for i := range 3 {
				changes.Go(func() {
					for k := 0; ; k++ {
						select {
						case <-done:
							return
						default:
						}
						name := fmt.Sprintf("t%d", i)
						switch k % 5 {
						case 0:
							srv.BatchChanges(func() { srv.Tool(name, "", nothing) })
						case 1:
							_ = srv.SetTool(mcp.Tool{Name: name}, rawNothing)
						case 2:
							srv.EnableTool(name, false)
						case 3:
							srv.EnableTool(name, true)
						case 4:
							srv.RemoveTool(name)
						}
						srv.Updated("a://b")
						time.Sleep(50 * time.Microsecond)
					}
				})
			}
			for range 50 {
				for cursor := "x"; cursor != ""; {
					if cursor == "x" {
						cursor = ""
					}
					_, cursor = w.page(cursor)
				}
				if m := w.Call("tools/call", `{"name":"t1"}`); m.Error != nil && m.Error.Code != -32602 {
					t.Errorf("got %s, want a result or that there is none", m.Raw)
				}
				w.Must("tools/call", `{"name":"echo"}`)
			}
			close(done)
			changes.Wait()
		})
	}
}

func TestReplacingByAnEqualDefinitionAnnouncesNothing(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		answer := func(text string) func(anyContext, struct{}) (string, error) {
			return func(anyContext, struct{}) (string, error) { return text, nil }
		}
		set := func(text, description, schema string, opts ...mcpserver.ToolOption) error {
			return srv.SetTool(mcp.Tool{Name: "raw", Description: description, InputSchema: jsontext.Value(schema)},
				func(anyContext, *mcp.CallToolParams) (mcp.Result, error) {
					return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text)}}, nil
				}, opts...)
		}
		must := func(errs ...error) {
			t.Helper()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		}
		replaceAll := func(text string) {
			t.Helper()
			must(
				set(text, "", `{"type":"object"}`),
				srv.ReplaceTool("typed", "A tool", answer(text), mcpserver.ReadOnly()),
				srv.ReplacePrompt("p", "A prompt", plan),
				srv.SetPrompt(mcp.Prompt{Name: "raw"}, noMessages),
				srv.ReplaceResource("x://r", "r", "text/plain", fixed(text), mcpserver.Meta("com.example/k", 1)),
				srv.ReplaceTemplate("x://{airport}{?day}", "t", "", timetable),
				srv.SetTemplate(mcp.ResourceTemplate{URITemplate: "y://{a}", Name: "t"}, noContents),
			)
		}
		replaceAll("first")
		w := dial(t, srv, r)
		watchLists(w)
		replaceAll("second")
		w.Quiet()
		for _, call := range []string{`{"name":"raw"}`, `{"name":"typed"}`} {
			if got := string(w.Must("tools/call", call)); !strings.Contains(got, "second") {
				t.Errorf("%s: got %s, want the new handler", call, got)
			}
		}
		if got := string(w.Must("resources/read", `{"uri":"x://r"}`)); !strings.Contains(got, "second") {
			t.Errorf("got %s, want the new handler", got)
		}

		for _, change := range []func() error{
			func() error { return set("", "Another description", `{"type":"object"}`) },
			func() error { return set("", "Another description", `{"type":"object","title":"t"}`) },
			func() error { return srv.ReplaceTool("typed", "A tool", answer("")) },
			func() error { return set("", "", `{"type":"object"}`, mcpserver.Scopes("a")) },
			func() error {
				return set("", "", `{"type":"object"}`, mcpserver.Visible(func(*mcp.Identity) bool { return true }))
			},
			func() error { return set("", "", `{"type":"object"}`) },
		} {
			must(change())
			w.Notification("notifications/tools/list_changed")
			w.Quiet()
		}

		srv.EnableTool("raw", false)
		w.Notification("notifications/tools/list_changed")
		must(set("", "While it is off", `{"type":"object"}`))
		w.Quiet()
		srv.EnableTool("raw", true)
		w.Notification("notifications/tools/list_changed")
	})
}

func TestReplacingBySomethingBadChangesNothing(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	srv.Tool("a", "before", nothing)
	srv.Prompt("p", "before", plan)
	for _, test := range []struct {
		err  error
		want string
	}{
		{srv.ReplaceTool[struct{}, string]("a", "", nil), `tool "a": the handler is nil`},
		{srv.ReplaceTool("b c", "", nothing), `tool "b c": name: want`},
		{srv.ReplacePrompt[struct{}]("p", "", nil), `prompt "p": the handler is nil`},
		{srv.ReplaceResource("r", "r", "", fixed("")), `resource "r": URI`},
		{srv.ReplaceResource("x://r", "r", "", nil), `resource "x://r": the handler is nil`},
		{srv.ReplaceTemplate("x://{b", "r", "", timetable), `template "x://{b": parse template`},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("got %v, want %q", test.err, test.want)
		}
	}
	w := dial(t, srv, mcp.V20260728)
	if got := string(w.Must("tools/list", "")); !strings.Contains(got, "before") {
		t.Errorf("got %s, want the tool as it was", got)
	}
}
