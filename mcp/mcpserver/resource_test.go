package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// fixed reads the same every time.
func fixed(data string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(data), nil }
}

// readRaw returns a handler that returns the given result.
func readRaw(result mcp.Result, err error) mcpserver.ResourceHandler {
	return func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) { return result, err }
}

func TestResourceIsListedAndRead(t *testing.T) {
	claim.Shows(t, "R-224", "R-231b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Resource("status://today", "Today", "text/markdown", fixed("# fine"),
			mcpserver.Title("Today at a glance"), mcpserver.Describe("All flights"), mcpserver.Annotate(mcp.Annotations{Priority: new(0.5)}))
		srv.Resource("status://logo", "Logo", "image/png", fixed("\x89PNG"))
		srv.Resource("status://bad", "Bad", "text/plain", fixed("\xff"))
		w := dial(t, srv, r)
		same(t, jsontext.Value(at(t, w.Must("resources/list", ""), "/resources")), `[
			{"uri":"status://bad","name":"Bad","mimeType":"text/plain"},
			{"uri":"status://logo","name":"Logo","mimeType":"image/png"},
			{"uri":"status://today","name":"Today","title":"Today at a glance","description":"All flights","mimeType":"text/markdown","annotations":{"priority":0.5}}]`)
		for _, test := range []struct{ uri, want string }{
			{"status://today", `{"uri":"status://today","mimeType":"text/markdown","text":"# fine"}`},
			{"status://logo", `{"uri":"status://logo","mimeType":"image/png","blob":"iVBORw=="}`},
			{"status://bad", `{"uri":"status://bad","mimeType":"text/plain","blob":"/w=="}`},
		} {
			result := w.Must("resources/read", `{"uri":"`+test.uri+`"}`)
			if got, want := at(t, result, "/contents/0"), canonical(t, jsontext.Value(test.want)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

func TestEmptyResourceHasContents(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Resource("a://text", "a", "text/plain", fixed(""))
		srv.Resource("a://blob", "a", "image/png", fixed(""))
		w := dial(t, srv, r)
		same(t, jsontext.Value(at(t, w.Must("resources/read", `{"uri":"a://text"}`), "/contents")), `[{"uri":"a://text","mimeType":"text/plain","text":""}]`)
		same(t, jsontext.Value(at(t, w.Must("resources/read", `{"uri":"a://blob"}`), "/contents")), `[{"uri":"a://blob","mimeType":"image/png","blob":""}]`)
	})
}

func TestUnknownResourceHasTheErrorOfTheRevision(t *testing.T) {
	claim.Shows(t, "R-008", "R-021", "R-225a", "R-225b", "R-226", "R-231a", "E-01")
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Resource("notes://a", "a", "", fixed("a"))
		srv.AddResource(mcp.Resource{URI: "notes://gone", Name: "gone"}, readRaw(nil, fmt.Errorf("read: %w", mcpserver.ErrNotFound)))
		w := dial(t, srv, r)
		code := -32002
		if isModern(r) {
			code = -32602
		}
		for _, uri := range []string{"notes://b", "notes://gone", "notes://a/A", "notes://a/", ""} {
			err := w.Refused("resources/read", fmt.Sprintf(`{"uri":%q}`, uri), code)
			if got, want := at(t, err.Data, "/uri"), fmt.Sprintf("%q", uri); got != want {
				t.Errorf("%s: got data %s, want the uri", uri, err.Data)
			}
		}
		w.Refused("resources/read", `{"uri":7}`, -32602)
	})
}

func TestFailureOfAResourceIsPrivate(t *testing.T) {
	claim.Shows(t, "R-225a", "R-225b")
	null := (*mcp.ReadResourceResult)(nil)
	contents := func(c ...mcp.ResourceContents) *mcp.ReadResourceResult { return &mcp.ReadResourceResult{Contents: c} }
	for _, test := range []struct {
		name   string
		read   mcpserver.ResourceHandler
		logged string
	}{
		{"error", readRaw(nil, errors.New("disk on fire")), "disk on fire"},
		{"panic", func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) { panic("disk on fire") }, "disk on fire"},
		{"nil", readRaw(nil, nil), "nil"},
		{"typed nil", readRaw(null, nil), "nil"},
		{"another nil", readRaw((*mcp.InputRequiredResult)(nil), nil), "nil"},
		{"no contents", readRaw(contents(), nil), "returned no contents"},
		{"no URI", readRaw(contents(mcp.ResourceContents{Text: "x"}), nil), "want a URI"},
		{"no UTF-8", readRaw(contents(mcp.ResourceContents{URI: "a://b", Text: "\xff"}), nil), "UTF-8"},
		{"no MIME type", readRaw(contents(mcp.ResourceContents{URI: "a://b", MIMEType: "text /"}), nil), "MIME type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				logged := new(logbook)
				srv := newServer(&mcpserver.Options{Logger: textLog(logged)})
				srv.AddResource(mcp.Resource{URI: "a://b", Name: "b"}, test.read)
				err := dial(t, srv, r).Refused("resources/read", `{"uri":"a://b"}`, -32603)
				id := incident(t, err.Message)
				if !strings.Contains(logged.String(), test.logged) || !strings.Contains(logged.String(), id) {
					t.Errorf("got log %s, want %q and the incident %s", logged, test.logged, id)
				}
			})
		})
	}
}

func TestProtocolErrorOfAResourceIsOne(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddResource(mcp.Resource{URI: "a://b", Name: "b"}, readRaw(nil, mcp.Errorf(mcp.CodeInvalidParams, "not on sundays")))
		if err := dial(t, srv, r).Refused("resources/read", `{"uri":"a://b"}`, -32602); err.Message != "not on sundays" {
			t.Errorf("got %q, want the handler's words", err.Message)
		}
	})
}

func TestResourceMayHaveSeveralContents(t *testing.T) {
	claim.Shows(t, "R-229b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddResource(mcp.Resource{URI: "a://dir/", Name: "dir"}, readRaw(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
			{URI: "a://dir/1", Text: "one"}, {URI: "a://dir/2", Blob: []byte{1}, Meta: mcp.Meta{"com.example/k": jsontext.Value("1")}},
		}}, nil))
		same(t, jsontext.Value(at(t, dial(t, srv, r).Must("resources/read", `{"uri":"a://dir/"}`), "/contents")),
			`[{"uri":"a://dir/1","text":"one"},{"uri":"a://dir/2","blob":"AQ==","_meta":{"com.example/k":1}}]`)
	})
}

type airport struct {
	Airport string `json:"airport" pattern:"^[A-Z]{3}$"`
	Day     int    `json:"day,omitzero"`
}

func timetable(_ context.Context, in airport) ([]byte, error) {
	if in.Airport == "XXX" {
		return nil, mcpserver.ErrNotFound
	}
	return fmt.Appendf(nil, "%s %d", in.Airport, in.Day), nil
}

func TestTemplateIsListedAndServesWhatMatches(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Template("timetable://{airport}{?day}", "Timetable", "application/json", timetable, mcpserver.Describe("by airport"))
		srv.Resource("timetable://OSL", "Oslo", "text/plain", fixed("listed"))
		w := dial(t, srv, r)
		same(t, jsontext.Value(at(t, w.Must("resources/templates/list", ""), "/resourceTemplates")),
			`[{"uriTemplate":"timetable://{airport}{?day}","name":"Timetable","description":"by airport","mimeType":"application/json"}]`)
		for _, test := range []struct{ uri, want string }{
			{"timetable://TRN", `TRN 0`},
			{"timetable://TRN?day=3", `TRN 3`},
			{"timetable://OSL", `listed`},
			{"timetable://OSL?day=1", `OSL 1`},
		} {
			result := w.Must("resources/read", `{"uri":"`+test.uri+`"}`)
			if got := at(t, result, "/contents/0/text"); got != `"`+test.want+`"` {
				t.Errorf("%s: got %s, want %s", test.uri, got, test.want)
			}
		}
		missing := -32002
		if isModern(r) {
			missing = -32602
		}
		w.Refused("resources/read", `{"uri":"timetable://XXX"}`, missing)
		w.Refused("resources/read", `{"uri":"timetable://a/b"}`, missing)
		for _, uri := range []string{"timetable://trn", "timetable://TRN?day=x"} {
			if err := w.Refused("resources/read", `{"uri":"`+uri+`"}`, -32602); !strings.Contains(err.Message, "arguments/") {
				t.Errorf("%s: got %q, want the variable named", uri, err.Message)
			}
		}
	})
}

func TestFirstMatchingTemplateServes(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		type path struct {
			Path string `json:"path"`
		}
		srv := newServer(nil)
		serve := func(name string) func(context.Context, path) ([]byte, error) {
			return func(context.Context, path) ([]byte, error) { return []byte(name), nil }
		}
		srv.Template("b://x/{path}", "second", "", serve("second"))
		srv.Template("b://{+path}", "first by text", "", serve("any"))
		if got := at(t, dial(t, srv, r).Must("resources/read", `{"uri":"b://x/1"}`), "/contents/0/text"); got != `"second"` {
			t.Errorf("got %s, want the first in the order of the list", got)
		}
	})
}

func TestInvalidResourcePanicsAtRegistration(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-230", "R-231a")
	type other struct {
		City string `json:"city"`
	}
	type list struct {
		Airport []string `json:"airport"`
	}
	for _, test := range []struct {
		name     string
		register func(*mcpserver.Server)
		want     string
	}{
		{"no scheme", func(s *mcpserver.Server) { s.Resource("today", "a", "", fixed("")) }, `resource "today": URI: want one with a scheme`},
		{"no name", func(s *mcpserver.Server) { s.Resource("a://b", "", "", fixed("")) }, `resource "a://b": name`},
		{"no handler", func(s *mcpserver.Server) { s.AddResource(mcp.Resource{URI: "a://b", Name: "b"}, nil) }, `resource "a://b": the handler is nil`},
		{"nil function", func(s *mcpserver.Server) { s.Resource("a://b", "b", "", nil) }, `resource "a://b": the handler is nil`},
		{"MIME type", func(s *mcpserver.Server) { s.Resource("a://b", "b", "text plain", fixed("")) }, `resource "a://b": MIME type "text plain"`},
		{"a description in place of the MIME type", func(s *mcpserver.Server) {
			s.Resource("a://b", "b", "Appointments of today", fixed(""))
		}, `MIME type "Appointments of today": want one such as text/plain, or none; the order is URI, name, MIME type`},
		{"one word in place of the MIME type", func(s *mcpserver.Server) {
			s.Resource("a://b", "text/plain", "Appointments", fixed(""))
		}, `MIME type "Appointments": want one such as text/plain`},
		{"a description in place of the MIME type of a template", func(s *mcpserver.Server) {
			s.Template("a://{airport}{?day}", "a", "Timetable", timetable)
		}, `MIME type "Timetable": want one such as text/plain`},
		{"twice", func(s *mcpserver.Server) {
			s.Resource("a://b", "b", "", fixed(""))
			s.Resource("a://b", "b", "", fixed(""))
		}, `resource "a://b": registered already`},
		{"variable without a field", func(s *mcpserver.Server) {
			s.Template("a://{airport}", "a", "", func(context.Context, other) ([]byte, error) { return nil, nil })
		}, `template "a://{airport}": variable "airport": no field`},
		{"field without a variable", func(s *mcpserver.Server) {
			s.Template("a://x", "a", "", func(context.Context, other) ([]byte, error) { return nil, nil })
		}, `template "a://x": field "city": no variable`},
		{"list", func(s *mcpserver.Server) {
			s.Template("a://{airport}", "a", "", func(context.Context, list) ([]byte, error) { return nil, nil })
		}, `template "a://{airport}": field "airport": want a string`},
		{"template", func(s *mcpserver.Server) {
			s.Template("a://{airport", "a", "", timetable)
		}, `template "a://{airport": parse template`},
		{"nil template function", func(s *mcpserver.Server) { s.Template[airport]("a://{airport}{?day}", "a", "", nil) }, `the handler is nil`},
		{"completion of no variable", func(s *mcpserver.Server) {
			s.Template("a://{airport}{?day}", "a", "", timetable, mcpserver.CompleteArg("city", mcpserver.Prefix("Oslo")))
		}, `completion of [city]: want variables of the template: [airport day]`},
		{"template twice", func(s *mcpserver.Server) {
			s.Template("a://{airport}{?day}", "a", "", timetable)
			s.Template("a://{airport}{?day}", "a", "", timetable)
		}, `registered already`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if text := panicText(t, func() { test.register(newServer(nil)) }); !strings.Contains(text, test.want) {
				t.Errorf("got %q, want %q in it", text, test.want)
			}
		})
	}
}

func TestEqualURIsAreReadFromOneResource(t *testing.T) {
	t.Parallel()
	s := newServer(nil)
	text := func(text string) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return []byte(text), nil }
	}
	s.Resource("file:///a~b", "tilde", "text/plain", text("tilde"))
	s.Resource("HTTPS://Example.com/%c3%a9", "accent", "text/plain", text("accent"))
	s.Resource("note://README", "capitals", "text/plain", text("capitals"))
	s.Resource("note://readme", "small", "text/plain", text("small"))
	type vars struct {
		Path string `json:"path"`
	}
	s.Template("file:///{path}", "files", "text/plain", func(_ context.Context, v vars) ([]byte, error) { return []byte("template " + v.Path), nil })
	c := connectTo(t, s)
	for uri, want := range map[string]string{
		"file:///a~b":                  "tilde",
		"file:///a%7Eb":                "tilde",
		"FILE:///%61%7eb":              "tilde",
		"https://example.COM/%C3%A9":   "accent",
		"HTTPS://Example.com/%c3%a9":   "accent",
		"note://README":                "capitals", // its own URI is before its equals
		"note://readme":                "small",
		"note://Readme":                "small",
		"File:///c":                    "template c",
		"file:///%63":                  "template c",
		"file:///a%2Fb":                "",
		"file:///%2e%2E":               "",
		"https://example.com/%C3%A9/x": "",
	} {
		result, err := c.ReadResource(t.Context(), uri)
		got := ""
		if err == nil {
			got = result.Contents[0].Text
		}
		if got != want {
			t.Errorf("%s: got %q, %v, want %q", uri, got, err, want)
		}
	}
}
