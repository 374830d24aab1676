package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/schema"
)

type flight struct {
	Number string   `json:"number" doc:"flight number such as AZ612" pattern:"^[A-Z]{2}[0-9]+$"`
	Seats  int      `json:"seats,omitzero" min:"1" max:"9"`
	Class  string   `json:"class,omitzero" enum:"economy|business"`
	Names  []string `json:"names,omitzero" maxitems:"2"`
	Window *bool    `json:"window"`
}

type status struct {
	Gate  string `json:"gate"`
	Delay int    `json:"delay"`
}

func nothing(context.Context, struct{}) (string, error) { return "", nil }

func TestToolIsListedWithInferredSchemasAndHints(t *testing.T) {
	claim.Shows(t, "R-203", "R-207a", "R-352")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("status", "Status of a flight", func(context.Context, flight) (status, error) { return status{}, nil },
			mcpserver.ReadOnly(), mcpserver.ClosedWorld(), mcpserver.Title("Flight status"), mcpserver.Meta("com.example/rank", 1))
		list := dial(t, srv, r).Must("tools/list", "")
		same(t, jsontext.Value(at(t, list, "/tools")), `[{
			"name": "status", "title": "Flight status", "description": "Status of a flight",
			"inputSchema": {"type": "object", "additionalProperties": false, "required": ["number"], "properties": {
				"number": {"type": "string", "description": "flight number such as AZ612", "pattern": "^[A-Z]{2}[0-9]+$"},
				"seats": {"type": "integer", "minimum": 1, "maximum": 9},
				"class": {"type": "string", "enum": ["economy", "business"]},
				"names": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
				"window": {"type": "boolean"}}},
			"outputSchema": {"type": "object", "required": ["gate", "delay"], "properties": {
				"gate": {"type": "string"}, "delay": {"type": "integer"}}},
			"annotations": {"readOnlyHint": true, "openWorldHint": false},
			"_meta": {"com.example/rank": 1}}]`)
	})
}

func TestToolGetsItsArguments(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("echo", "", func(_ context.Context, in flight) (string, error) {
			return fmt.Sprintf("%s %d %q %v %v", in.Number, in.Seats, in.Class, in.Names, *in.Window), nil
		})
		result := dial(t, srv, r).Must("tools/call",
			`{"name":"echo","arguments":{"number":"AZ612","seats":2,"class":"economy","names":["a","b"],"window":true}}`)
		if got, want := at(t, result, "/content/0/text"), `"AZ612 2 \"economy\" [a b] true"`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestToolWithoutArgumentsMayBeCalledWithoutThem(t *testing.T) {
	claim.Shows(t, "R-207b", "R-214b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("ping", "", func(context.Context, struct{}) (string, error) { return "pong", nil })
		w := dial(t, srv, r)
		if got := at(t, w.Must("tools/list", ""), "/tools/0/inputSchema"); got != `{"additionalProperties":false,"type":"object"}` {
			t.Errorf("got input schema %s, want that of an empty object", got)
		}
		for _, params := range []string{`{"name":"ping"}`, `{"name":"ping","arguments":{}}`} {
			if got := at(t, w.Must("tools/call", params), "/content/0/text"); got != `"pong"` {
				t.Errorf("%s: got %s, want pong", params, got)
			}
		}
	})
}

func TestArgumentsThatBreakTheSchemaAreAToolError(t *testing.T) {
	claim.Shows(t, "R-216", "R-218a", "G-b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("book", "", func(context.Context, flight) (string, error) {
			t.Error("the handler runs")
			return "", nil
		})
		w := dial(t, srv, r)
		for _, test := range []struct{ arguments, pointer string }{
			{`{}`, "number"},
			{`{"number":"az"}`, "/number"},
			{`{"number":7}`, "/number"},
			{`{"number":"AZ1","seats":0}`, "/seats"},
			{`{"number":"AZ1","seats":1.5}`, "/seats"},
			{`{"number":"AZ1","seats":123456789012345678901234567890}`, "/seats"},
			{`{"number":"AZ1","class":"first"}`, "/class"},
			{`{"number":"AZ1","names":["a",2]}`, "/names/1"},
			{`{"number":"AZ1","names":["a","b","c"]}`, "/names"},
			{`{"number":null}`, "/number"},
			{`{"number":"AZ1","Number":"AZ1"}`, "Number"},
			{`{"number":"AZ1","extra":1}`, "extra"},
		} {
			result := w.Must("tools/call", `{"name":"book","arguments":`+test.arguments+`}`)
			text := at(t, result, "/content/0/text")
			if at(t, result, "/isError") != "true" || !strings.Contains(text, test.pointer) || !strings.Contains(text, "book") {
				t.Errorf("%s: got %s, want isError about the tool and %s", test.arguments, result, test.pointer)
			}
			if strings.Contains(text, "Go ") || strings.Contains(text, "json:") {
				t.Errorf("%s: got %s, want no word of the implementation", test.arguments, text)
			}
		}
	})
}

func TestMalformedCallIsAProtocolError(t *testing.T) {
	claim.Shows(t, "R-008", "R-214a", "R-214b", "G-b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("book", "", nothing)
		w := dial(t, srv, r)
		for _, params := range []string{
			`{"name":"unknown"}`,
			`{"name":"Book"}`,
			`{"name":"` + strings.Repeat("long ", 1000) + `"}`,
			`{}`,
			`{"name":7}`,
			`{"name":"book","arguments":[]}`,
			`{"name":"book","arguments":"{}"}`,
		} {
			if err := w.Refused("tools/call", params, -32602); err.Message == "" || len(err.Message) > 200 || strings.Contains(err.Message, "Go ") {
				t.Errorf("%.100s: got %q, want a short sentence without words of the implementation", params, err.Message)
			}
		}
		w.Must("tools/call", `{"name":"book"}`)
	})
}

func TestErrorOfAToolHandlerIsAToolError(t *testing.T) {
	claim.Shows(t, "R-214c", "R-215", "R-218d", "D-22")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("fail", "", func(context.Context, struct{}) (status, error) {
			return status{}, errors.New("no such\x1b[31m flight\nsorry" + strings.Repeat("é", 4000))
		})
		result := dial(t, srv, r).Must("tools/call", `{"name":"fail"}`)
		text := decoded[string](t, jsontext.Value(at(t, result, "/content/0/text")))
		if at(t, result, "/isError") != "true" || at(t, result, "/structuredContent") != "" {
			t.Errorf("got %s, want isError without structured content", result)
		}
		if got := at(t, result, "/resultType"); (got == `"complete"`) != isModern(r) {
			t.Errorf("got resultType %s", got)
		}
		if !strings.HasPrefix(text, "no such[31m flight\nsorryéé") || len(text) > 5000 {
			t.Errorf("got %d bytes: %.60q, want the text, without control characters and bounded", len(text), text)
		}
	})
}

func TestErrorsCanBeMasked(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		logged := new(logbook)
		srv := newServer(&mcpserver.Options{MaskErrors: true, Logger: textLog(logged)})
		srv.Tool("fail", "", func(context.Context, flight) (string, error) { return "", errors.New("db: secret-host is down") })
		w := dial(t, srv, r)
		text := at(t, w.Must("tools/call", `{"name":"fail","arguments":{"number":"AZ1","window":true}}`), "/content/0/text")
		id := incident(t, text)
		if strings.Contains(text, "secret-host") || !strings.Contains(logged.String(), "secret-host") || !strings.Contains(logged.String(), id) {
			t.Errorf("got %s, log %s, want an id in both and the reason in the log alone", text, logged)
		}
		text = at(t, w.Must("tools/call", `{"name":"fail","arguments":{"number":"az"}}`), "/content/0/text")
		if !strings.Contains(text, "/number") {
			t.Errorf("got %s, want what is wrong with the arguments, which is no secret", text)
		}
	})
}

func TestProtocolErrorOfAToolIsOne(t *testing.T) {
	claim.Shows(t, "R-020", "R-022")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("own", "", func(context.Context, struct{}) (string, error) {
			return "", &mcp.Error{Code: mcp.CodeOther, Number: 42, Message: "full", Data: jsontext.Value(`{"retry":true}`)}
		})
		srv.Tool("wrapped", "", func(context.Context, struct{}) (string, error) {
			return "", fmt.Errorf("book: %w", mcp.Errorf(mcp.CodeInvalidParams, "no such airport"))
		})
		srv.Tool("reserved", "", func(context.Context, struct{}) (string, error) {
			return "", &mcp.Error{Code: mcp.CodeOther, Number: -32050, Message: "mine"}
		})
		srv.Tool("remote", "", func(context.Context, struct{}) (string, error) {
			return "", &mcp.Error{Code: mcp.CodeInvalidParams, Number: -32602, Message: "upstream says no", Remote: true}
		})
		w := dial(t, srv, r)
		err := w.Refused("tools/call", `{"name":"own"}`, 42)
		if err.Message != "full" || canonical(t, err.Data) != `{"retry":true}` {
			t.Errorf("got %+v, want the tool's message and data", err)
		}
		w.Refused("tools/call", `{"name":"wrapped"}`, -32602)
		w.Refused("tools/call", `{"name":"reserved"}`, -32603)
		if got := at(t, w.Must("tools/call", `{"name":"remote"}`), "/isError"); got != "true" {
			t.Errorf("got isError %s, want true: what another peer answered is not our protocol error", got)
		}
	})
}

func TestPanicOfAToolEndsItsCallAlone(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		logged := new(logbook)
		srv := newServer(&mcpserver.Options{Logger: textLog(logged)})
		srv.Tool("panic", "", func(context.Context, struct{}) (string, error) { panic("secret-state") })
		srv.Tool("panic2", "", func(context.Context, struct{}) (string, error) { panic("secret-state") }, mcpserver.Timeout(hour))
		srv.Tool("goexit", "", nothing)
		w := dial(t, srv, r)
		for _, name := range []string{"panic", "panic2"} {
			logged.Reset()
			err := w.Refused("tools/call", `{"name":"`+name+`"}`, -32603)
			if strings.Contains(err.Message, "secret-state") || err.Data != nil {
				t.Errorf("%s: got %+v, want nothing of the panic", name, err)
			}
			id := incident(t, err.Message)
			if log := logged.String(); !strings.Contains(log, "secret-state") || !strings.Contains(log, id) || !strings.Contains(log, "tool_test.go") {
				t.Errorf("%s: got log %s, want the panic, the incident %s and the stack", name, log, id)
			}
		}
		w.Must("tools/call", `{"name":"goexit"}`)
	})
}

func TestInvalidToolPanicsAtRegistration(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-207a", "R-208", "R-352")
	type badPattern struct {
		Number string `json:"number" pattern:"[A-Z"`
	}
	type badMin struct {
		Name string `json:"name" min:"1"`
	}
	type badType struct {
		C chan int `json:"c"`
	}
	type ownPattern struct {
		Code lookahead `json:"code"`
	}
	const unsupported = `{"type":"object","properties":{"code":{"type":"string","pattern":"^(?!x)"},"names":{"patternProperties":{"(a)\\1":{}}}}}`
	for _, test := range []struct {
		name     string
		register func(*mcpserver.Server)
		want     []string
	}{
		{"pattern", func(s *mcpserver.Server) {
			s.Tool("status", "", func(context.Context, badPattern) (string, error) { return "", nil })
		}, []string{`tool "status": field Number: pattern "[A-Z"`, "missing closing ]"}},
		{"keyword of another type", func(s *mcpserver.Server) {
			s.Tool("status", "", func(context.Context, badMin) (string, error) { return "", nil })
		}, []string{`tool "status": field Name: min`}},
		{"type", func(s *mcpserver.Server) {
			s.Tool("status", "", func(context.Context, badType) (string, error) { return "", nil })
		}, []string{`tool "status": field C: chan int`}},
		{"output type", func(s *mcpserver.Server) {
			s.Tool("status", "", func(context.Context, struct{}) (badType, error) { return badType{}, nil })
		}, []string{`tool "status"`, "field C: chan int"}},
		{"no struct", func(s *mcpserver.Server) {
			s.Tool("status", "", func(context.Context, string) (string, error) { return "", nil })
		}, []string{`tool "status": input string`, "want a struct"}},
		{"name", func(s *mcpserver.Server) { s.Tool("a status", "", nothing) }, []string{`tool "a status": name: want`}},
		{"no name", func(s *mcpserver.Server) { s.Tool("", "", nothing) }, []string{`name: want`}},
		{"long name", func(s *mcpserver.Server) {
			s.Tool(strings.Repeat("a", 128), "", nothing)
			s.Tool(strings.Repeat("b", 129), "", nothing)
		}, []string{`tool "bbb`, `name: want 1 to 128`}},
		{"no handler", func(s *mcpserver.Server) {
			s.Tool("status", "", (func(context.Context, struct{}) (string, error))(nil))
		}, []string{`tool "status": the handler is nil`}},
		{"twice", func(s *mcpserver.Server) {
			s.Tool("status", "", nothing)
			s.Tool("status", "", nothing)
		}, []string{`tool "status": registered already`, "SetTool"}},
		{"schema without object", func(s *mcpserver.Server) {
			s.AddTool(mcp.Tool{Name: "status", InputSchema: jsontext.Value(`{"type":"string"}`)}, rawNothing)
		}, []string{`tool "status": input schema`, `"type": "object"`}},
		{"schema no schema", func(s *mcpserver.Server) {
			s.AddTool(mcp.Tool{Name: "status", InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"strin"}}}`)}, rawNothing)
		}, []string{`tool "status": input schema`, "/properties/a/type"}},
		{"schema with a network reference", func(s *mcpserver.Server) {
			s.AddTool(mcp.Tool{Name: "status", InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"$ref":"http://example.com/s"}}}`)}, rawNothing)
		}, []string{`tool "status": input schema`, "http://example.com/s"}},
		{"output schema", func(s *mcpserver.Server) {
			s.AddTool(mcp.Tool{Name: "status", OutputSchema: jsontext.Value(`{"minimum":"1"}`)}, rawNothing)
		}, []string{`tool "status": output schema`, "/minimum"}},
		{"pattern of a raw input schema", func(s *mcpserver.Server) {
			s.AddTool(mcp.Tool{Name: "status", InputSchema: jsontext.Value(unsupported)}, rawNothing)
		}, []string{`tool "status": input schema: /properties/code/pattern "^(?!x)" is not checked: invalid or unsupported Perl syntax; want an expression in RE2 syntax, or the option AllowInvalidArguments, with which the handler checks the arguments itself`}},
		{"pattern of a raw output schema", func(s *mcpserver.Server) {
			s.AddTool(mcp.Tool{Name: "status", OutputSchema: jsontext.Value(`{"patternProperties":{"(a)\\1":{}}}`)}, rawNothing, mcpserver.AllowInvalidArguments())
		}, []string{`tool "status": output schema: /patternProperties "(a)\\1" is not checked`, "or the option Proxied, with which neither arguments nor results are checked"}},
		{"pattern of a described argument", func(s *mcpserver.Server) {
			s.Tool("status", "", func(context.Context, ownPattern) (string, error) { return "", nil })
		}, []string{`tool "status": field Code: mcpserver_test.lookahead: JSONSchema: /pattern "^(?!x)"`, "or the option AllowInvalidArguments for AddTool"}},
		{"pattern of a described result", func(s *mcpserver.Server) {
			s.Tool("status", "", func(context.Context, struct{}) (ownPattern, error) { return ownPattern{}, nil })
		}, []string{`tool "status": `, `/pattern "^(?!x)"`, "or the option Proxied for AddTool"}},
		{"limit", func(s *mcpserver.Server) { s.Tool("status", "", nothing, mcpserver.Limit(0)) }, []string{"Limit: 0: want at least 1"}},
		{"reserved metadata", func(s *mcpserver.Server) {
			s.Tool("status", "", nothing, mcpserver.Meta("io.modelcontextprotocol/x", 1))
		}, []string{"io.modelcontextprotocol/x", "reserved for the protocol"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := panicText(t, func() { test.register(newServer(nil)) })
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("got %q, want %q in it", text, want)
				}
			}
		})
	}
}

// lookahead is a string with a pattern of ECMA-262 that RE2 does not have.
type lookahead string

func (lookahead) JSONSchema() jsontext.Value {
	return jsontext.Value(`{"type":"string","pattern":"^(?!x)"}`)
}

func TestOptionsRegisterSchemasWithPatternsThatAreNotChecked(t *testing.T) {
	t.Parallel()
	schema := jsontext.Value(`{"type":"object","properties":{"code":{"type":"string","pattern":"^(?!x)"}}}`)
	s := newServer(nil)
	s.AddTool(mcp.Tool{Name: "input", InputSchema: schema}, rawNothing, mcpserver.AllowInvalidArguments())
	s.AddTool(mcp.Tool{Name: "both", InputSchema: schema, OutputSchema: schema}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{StructuredContent: jsontext.Value(`{}`)}, nil
	}, mcpserver.Proxied())
	c := connectTo(t, s)
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if string(tool.InputSchema) != string(schema) {
			t.Errorf("%s: got input schema %s, want it as it was given", tool.Name, tool.InputSchema)
		}
		if _, err := c.CallTool(t.Context(), tool.Name, map[string]any{"code": 7}); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}

func TestSetToolReturnsWhatAddToolPanicsWith(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	err := srv.SetTool(mcp.Tool{Name: "a b"}, rawNothing)
	if err == nil || !strings.HasPrefix(err.Error(), `tool "a b": name: want`) {
		t.Errorf("got %v, want the name refused", err)
	}
	if err := srv.SetTool(mcp.Tool{Name: "a"}, rawNothing); err != nil {
		t.Errorf("new: got %v, want nil", err)
	}
	if err := srv.SetTool(mcp.Tool{Name: "a"}, rawNothing); err != nil {
		t.Errorf("replaced: got %v, want nil", err)
	}
}

func TestRawToolGetsArgumentsByteForByte(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddTool(mcp.Tool{Name: "raw"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(p.Arguments))}}, nil
		})
		arguments := `{"b": 12345678901234567890.50,  "a":[1e30,"<&>"]}`
		result := dial(t, srv, r).Must("tools/call", `{"name":"raw","arguments":`+arguments+`}`)
		if got := decoded[string](t, jsontext.Value(at(t, result, "/content/0/text"))); got != arguments {
			t.Errorf("got %s, want %s", got, arguments)
		}
	})
}

func TestBuiltSchemaServesInPlaceOfAStruct(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		input, err := schema.Object(
			schema.Required("city", schema.String().Doc("name of a city")),
			schema.Optional("days", schema.Integer().Min(1).Max(14)),
		).JSON()
		if err != nil {
			t.Fatal(err)
		}
		srv := newServer(nil)
		srv.AddTool(mcp.Tool{Name: "forecast", InputSchema: input}, rawNothing)
		w := dial(t, srv, r)
		same(t, jsontext.Value(at(t, w.Must("tools/list", ""), "/tools/0/inputSchema")), `{
			"type": "object", "required": ["city"], "additionalProperties": false, "properties": {
			"city": {"type": "string", "description": "name of a city"},
			"days": {"type": "integer", "minimum": 1, "maximum": 14}}}`)
		if got := at(t, w.Must("tools/call", `{"name":"forecast","arguments":{"city":"Oslo","days":15}}`), "/isError"); got != "true" {
			t.Errorf("got isError %s, want true", got)
		}
	})
}

func TestToolThatIsOffIsUnknown(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("a", "", nothing)
		w := dial(t, srv, r)
		if !srv.EnableTool("a", false) || srv.EnableTool("a", false) || srv.EnableTool("b", false) {
			t.Error("EnableTool: want true only when it changed something")
		}
		w.Refused("tools/call", `{"name":"a"}`, -32602)
		if got := at(t, w.Must("tools/list", ""), "/tools"); got != "[]" {
			t.Errorf("got %s, want no tools", got)
		}
		if !srv.EnableTool("a", true) {
			t.Error("EnableTool: want true")
		}
		w.Must("tools/call", `{"name":"a"}`)
		if !srv.RemoveTool("a") || srv.RemoveTool("a") {
			t.Error("RemoveTool: want true once")
		}
		w.Refused("tools/call", `{"name":"a"}`, -32602)
	})
}

func TestOptionsOfEveryKindOfFeature(t *testing.T) {
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		icon := mcpserver.Icons(mcp.Icon{Src: "https://example.com/i.png", MIMEType: "image/png"})
		title, meta := mcpserver.Title("T"), mcpserver.Meta("com.example/k", []int{1})
		srv := newServer(nil)
		srv.Tool("a", "", nothing, icon, title, meta)
		srv.Prompt("a", "", emptyPrompt, icon, title, meta)
		srv.Resource("x://a", "a", "", fixed(""), icon, title, meta)
		srv.Template("x://{airport}{?day}", "a", "", timetable, icon, title, meta)
		w := dial(t, srv, r)
		for method, member := range map[string]string{
			"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
		} {
			first := jsontext.Value(at(t, w.Must(method, ""), "/"+member+"/0"))
			for _, test := range []struct {
				member, want string
				since        mcp.Revision
			}{
				{"icons", `[{"mimeType":"image/png","src":"https://example.com/i.png"}]`, mcp.V20251125},
				{"title", `"T"`, mcp.V20250618},
				{"_meta", `{"com.example/k":[1]}`, mcp.V20250618},
			} {
				want := test.want
				if slices.Index(revisions, r) < slices.Index(revisions, test.since) {
					want = ""
				}
				if got := at(t, first, "/"+test.member); got != want {
					t.Errorf("%s: %s: got %s, want %s", method, test.member, got, want)
				}
			}
		}
	})
}

func TestHintsAreAnnotations(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("all", "", nothing, mcpserver.ReadOnly(), mcpserver.NonDestructive(), mcpserver.Idempotent(), mcpserver.ClosedWorld())
		shared := &mcp.ToolAnnotations{Title: "mine"}
		srv.AddTool(mcp.Tool{Name: "given", Annotations: shared}, rawNothing, mcpserver.ReadOnly())
		list := dial(t, srv, r).Must("tools/list", "")
		same(t, jsontext.Value(at(t, list, "/tools/0/annotations")), `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`)
		same(t, jsontext.Value(at(t, list, "/tools/1/annotations")), `{"title":"mine","readOnlyHint":true}`)
		if shared.ReadOnlyHint != nil {
			t.Error("got the author's annotations changed, want a copy")
		}
	})
}

func TestTaskRequestIsIgnoredWithoutTaskSupport(t *testing.T) {
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		claim.Shows(t, "R-368", "R-388b")
		srv := newServer(nil)
		srv.Tool("echo", "", func(context.Context, struct{}) (string, error) { return "done", nil })
		result := dial(t, srv, r).Must("tools/call", `{"name":"echo","task":{"ttl":1000}}`)
		if got := at(t, result, "/content/0/text"); got != `"done"` || at(t, result, "/task") != "" {
			t.Errorf("got %s, want the result itself", result)
		}
	})
}
