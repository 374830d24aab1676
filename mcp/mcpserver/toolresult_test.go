package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"math/big"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/schema"
)

type celsius float64

type greeting string

// answer registers a tool that returns v.
func answer[Out any](srv *mcpserver.Server, name string, v Out) {
	srv.Tool(name, "", func(context.Context, struct{}) (Out, error) { return v, nil })
}

func TestOutputDecidesTheResult(t *testing.T) {
	claim.Shows(t, "R-211a", "R-212")
	image := mcp.Image([]byte{0xff, 0xfe}, "image/png")
	for _, test := range []struct {
		name     string
		register func(*mcpserver.Server)
		want     string // without the envelope
	}{
		{
			"string", func(s *mcpserver.Server) { answer(s, "a", "plain <&> é") },
			`{"content":[{"type":"text","text":"plain <&> é"}]}`,
		},
		{
			"named string", func(s *mcpserver.Server) { answer(s, "a", greeting("hi")) },
			`{"content":[{"type":"text","text":"hi"}]}`,
		},
		{
			"content", func(s *mcpserver.Server) { answer(s, "a", image) },
			`{"content":[{"type":"image","data":"//4=","mimeType":"image/png"}]}`,
		},
		{
			"content interface", func(s *mcpserver.Server) { answer[mcp.Content](s, "a", image) },
			`{"content":[{"type":"image","data":"//4=","mimeType":"image/png"}]}`,
		},
		{
			"contents", func(s *mcpserver.Server) { answer(s, "a", mcp.Contents{mcp.Text("x"), image}) },
			`{"content":[{"type":"text","text":"x"},{"type":"image","data":"//4=","mimeType":"image/png"}]}`,
		},
		{
			"slice of contents", func(s *mcpserver.Server) { answer(s, "a", []mcp.Content{mcp.Text("x")}) },
			`{"content":[{"type":"text","text":"x"}]}`,
		},
		{"no contents", func(s *mcpserver.Server) { answer(s, "a", mcp.Contents(nil)) }, `{"content":[]}`},
		{"whole result", func(s *mcpserver.Server) {
			answer(s, "a", &mcp.CallToolResult{
				ResultBase: mcp.ResultBase{Meta: mcp.Meta{"com.example/k": jsontext.Value(`1`), "io.modelcontextprotocol/serverInfo": jsontext.Value(`"forged"`)}},
				Content:    mcp.Contents{mcp.Text("short")}, StructuredContent: jsontext.Value(`{"long":true}`), IsError: true,
			})
		}, `{"_meta":{"com.example/k":1},"content":[{"type":"text","text":"short"}],"structuredContent":{"long":true},"isError":true}`},
		{
			"struct", func(s *mcpserver.Server) { answer(s, "a", status{"B7", 5}) },
			`{"content":[{"type":"text","text":"{\"gate\":\"B7\",\"delay\":5}"}],"structuredContent":{"gate":"B7","delay":5}}`,
		},
		{
			"pointer to a struct", func(s *mcpserver.Server) { answer(s, "a", &status{"B7", 5}) },
			`{"content":[{"type":"text","text":"{\"gate\":\"B7\",\"delay\":5}"}],"structuredContent":{"gate":"B7","delay":5}}`,
		},
		{
			"map", func(s *mcpserver.Server) { answer(s, "a", map[string]int{"b": 2, "a": 1}) },
			`{"content":[{"type":"text","text":"{\"a\":1,\"b\":2}"}],"structuredContent":{"a":1,"b":2}}`,
		},
		{"any string", func(s *mcpserver.Server) { answer[any](s, "a", "x") }, `{"content":[{"type":"text","text":"x"}]}`},
		{
			"any struct", func(s *mcpserver.Server) { answer[any](s, "a", status{"B7", 5}) },
			`{"content":[{"type":"text","text":"{\"gate\":\"B7\",\"delay\":5}"}],"structuredContent":{"gate":"B7","delay":5}}`,
		},
		{"any nil", func(s *mcpserver.Server) { answer[any](s, "a", nil) }, `{"content":[]}`},
		{
			"nothing", func(s *mcpserver.Server) { answer(s, "a", struct{}{}) },
			`{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				srv := newServer(nil)
				test.register(srv)
				same(t, withoutEnvelope(t, dial(t, srv, r).Must("tools/call", `{"name":"a"}`)), test.want)
			})
		})
	}
}

// withoutEnvelope takes off what the stateless era puts on every result.
func withoutEnvelope(t *testing.T, result jsontext.Value) jsontext.Value {
	t.Helper()
	all := decoded[map[string]jsontext.Value](t, result)
	delete(all, "resultType")
	if meta, ok := all["_meta"]; ok {
		members := decoded[map[string]jsontext.Value](t, meta)
		if info, ok := members["io.modelcontextprotocol/serverInfo"]; ok && canonical(t, info) == `{"name":"test","version":"1"}` {
			delete(members, "io.modelcontextprotocol/serverInfo")
		}
		all["_meta"] = encoded(t, members)
		if len(members) == 0 {
			delete(all, "_meta")
		}
	}
	return encoded(t, all)
}

func TestOutputThatIsNoObject(t *testing.T) {
	claim.Shows(t, "R-212", "D-21")
	for _, test := range []struct {
		name     string
		register func(*mcpserver.Server)
		schema   string
		value    string
	}{
		{"number", func(s *mcpserver.Server) { answer(s, "a", celsius(21.5)) }, `{"type":"number"}`, `21.5`},
		{"list", func(s *mcpserver.Server) { answer(s, "a", []int{1, 2}) }, `{"type":"array","items":{"type":"integer"}}`, `[1,2]`},
		{"no list", func(s *mcpserver.Server) { answer(s, "a", []int(nil)) }, `{"type":"array","items":{"type":"integer"}}`, `[]`},
		{"boolean", func(s *mcpserver.Server) { answer(s, "a", false) }, `{"type":"boolean"}`, `false`},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
				srv := newServer(nil)
				test.register(srv)
				w := dial(t, srv, r)
				list, result := w.Must("tools/list", ""), w.Must("tools/call", `{"name":"a"}`)
				text := decoded[string](t, jsontext.Value(at(t, result, "/content/0/text")))
				same(t, jsontext.Value(text), test.value)
				schema, value := "", ""
				if isModern(r) {
					schema, value = canonical(t, jsontext.Value(test.schema)), test.value
				}
				if got := at(t, list, "/tools/0/outputSchema"); got != schema {
					t.Errorf("output schema: got %q, want %q", got, schema)
				}
				if got := at(t, result, "/structuredContent"); got != value {
					t.Errorf("structured content: got %q, want %q", got, value)
				}
			})
		})
	}
}

func TestStructuredContentIsSentIfTheRevisionHasIt(t *testing.T) {
	claim.Shows(t, "D-21")
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		answer(srv, "a", status{"B7", 5})
		w := dial(t, srv, r)
		exists := r != mcp.V20241105 && r != mcp.V20250326
		if got := at(t, w.Must("tools/list", ""), "/tools/0/outputSchema"); (got != "") != exists {
			t.Errorf("output schema: got %q, want one: %v", got, exists)
		}
		result := w.Must("tools/call", `{"name":"a"}`)
		if got := at(t, result, "/structuredContent"); (got != "") != exists {
			t.Errorf("structured content: got %q, want some: %v", got, exists)
		}
		if got := at(t, result, "/content/0/text"); got == "" {
			t.Error("got no text, want the same as text")
		}
	})
}

func TestFailedResultHasNoStructuredContentForSessions(t *testing.T) {
	schema := jsontext.Value(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)
	reason := jsontext.Value(`{"reason":"closed"}`)
	eachOf(t, revisions, func(t *testing.T, r mcp.Revision) {
		for _, test := range []struct {
			name        string
			schema      jsontext.Value
			failed      bool
			content     mcp.Contents
			kept        bool // by revisions of sessions that have structured content
			wantContent string
		}{
			{"text", schema, true, mcp.Contents{mcp.Text("gate is closed")}, false, `[{"type":"text","text":"gate is closed"}]`},
			{"no other content", schema, true, nil, false, `[{"type":"text","text":"{\"reason\":\"closed\"}"}]`},
			{"no schema", nil, true, mcp.Contents{mcp.Text("gate is closed")}, true, `[{"type":"text","text":"gate is closed"}]`},
			{"no failure", schema, false, mcp.Contents{mcp.Text("gate is closed")}, true, `[{"type":"text","text":"gate is closed"}]`},
		} {
			srv := newServer(&mcpserver.Options{AllowInvalidResults: true})
			srv.AddTool(mcp.Tool{Name: "a", OutputSchema: test.schema}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
				return &mcp.CallToolResult{Content: test.content, StructuredContent: reason, IsError: test.failed}, nil
			})
			result := dial(t, srv, r).Must("tools/call", `{"name":"a"}`)
			want := ""
			if isModern(r) || test.kept && r != mcp.V20241105 && r != mcp.V20250326 {
				want = string(reason)
			}
			if got := at(t, result, "/structuredContent"); got != want {
				t.Errorf("%s: got structured content %q, want %q", test.name, got, want)
			}
			same(t, jsontext.Value(at(t, result, "/content")), test.wantContent)
		}
	})
}

func TestInvalidResultIsAnInternalError(t *testing.T) {
	claim.Shows(t, "R-211a")
	raw := func(def mcp.Tool, result *mcp.CallToolResult) func(*mcpserver.Server) {
		return func(s *mcpserver.Server) {
			s.AddTool(mcp.Tool{Name: "a", OutputSchema: def.OutputSchema}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return result, nil })
		}
	}
	number := mcp.Tool{OutputSchema: jsontext.Value(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)}
	one := func(c mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: mcp.Contents{c}} }
	for _, test := range []struct {
		name     string
		register func(*mcpserver.Server)
		logged   string
	}{
		{"nil", func(s *mcpserver.Server) { answer[*mcp.CallToolResult](s, "a", nil) }, `tool \"a\": the handler returned a nil *mcp.CallToolResult; want a result, or an error`},
		{"raw nil", raw(mcp.Tool{}, nil), "returned a nil *mcp.CallToolResult"},
		{"raw nil interface", func(s *mcpserver.Server) {
			s.AddTool(mcp.Tool{Name: "a"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, nil })
		}, "the handler returned nil"},
		{"nil pointer to a struct", func(s *mcpserver.Server) { answer[*status](s, "a", nil) }, "the handler returned a nil *mcpserver_test.status"},
		{"nil pointer in an interface", func(s *mcpserver.Server) { answer[any](s, "a", (*status)(nil)) }, "the handler returned a nil *mcpserver_test.status"},
		{"nil interface of content", func(s *mcpserver.Server) { answer[mcp.Content](s, "a", nil) }, "the handler returned a nil mcp.Content"},
		{"nil content", raw(mcp.Tool{}, one(nil)), "content 0: is nil"},
		{"no UTF-8", raw(mcp.Tool{}, one(mcp.Text("\xff"))), "UTF-8"},
		{"no UTF-8 in a string", func(s *mcpserver.Server) { answer(s, "a", "\xff") }, "UTF-8"},
		{"no UTF-8 in a struct", func(s *mcpserver.Server) { answer(s, "a", status{Gate: "\xff"}) }, "UTF-8"},
		{"no MIME type", raw(mcp.Tool{}, one(mcp.Image([]byte{1}, ""))), "MIME type"},
		{"another MIME type", raw(mcp.Tool{}, one(mcp.Image([]byte{1}, "audio/wav"))), "MIME type"},
		{"resource without URI", raw(mcp.Tool{}, one(mcp.Embed(mcp.ResourceContents{Text: "x"}))), "want a URI"},
		{"no structured content", raw(number, one(mcp.Text("x"))), "no structured content"},
		{"against the output schema", raw(number, &mcp.CallToolResult{StructuredContent: jsontext.Value(`{"n":"1"}`)}), "/n"},
		{"structured content that is no JSON", raw(mcp.Tool{}, &mcp.CallToolResult{StructuredContent: jsontext.Value(`{"n":`)}), "structuredContent"},
		{"structured content with a name twice", raw(mcp.Tool{}, &mcp.CallToolResult{StructuredContent: jsontext.Value(`{"n":1,"n":2}`)}), "duplicate"},
		{"too large", raw(mcp.Tool{}, one(mcp.Text(strings.Repeat("x", 5000)))), "the limit is 4096"},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				logged := new(logbook)
				srv := newServer(&mcpserver.Options{Logger: textLog(logged), MaxResult: 4096})
				test.register(srv)
				w := dial(t, srv, r)
				err := w.Refused("tools/call", `{"name":"a"}`, -32603)
				id := incident(t, err.Message)
				if !strings.Contains(logged.String(), test.logged) || !strings.Contains(logged.String(), id) {
					t.Errorf("got log %s, want %q and the incident %s", logged, test.logged, id)
				}
				if strings.Contains(err.Message, test.logged) {
					t.Errorf("got %q, want nothing private", err.Message)
				}
				w.Must("tools/list", "")
			})
		})
	}
}

func TestErrorResultNeedsNoStructuredContent(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddTool(mcp.Tool{Name: "a", OutputSchema: jsontext.Value(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("no")}, IsError: true}, nil
		})
		same(t, withoutEnvelope(t, dial(t, srv, r).Must("tools/call", `{"name":"a"}`)), `{"content":[{"type":"text","text":"no"}],"isError":true}`)
	})
}

func TestStructuredContentOfARawToolIsTextToo(t *testing.T) {
	claim.Shows(t, "R-212")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddTool(mcp.Tool{Name: "a"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			return &mcp.CallToolResult{StructuredContent: jsontext.Value(`{"n": 1}`)}, nil
		})
		result := dial(t, srv, r).Must("tools/call", `{"name":"a"}`)
		text := decoded[string](t, jsontext.Value(at(t, result, "/content/0/text")))
		same(t, jsontext.Value(text), `{"n":1}`)
		same(t, jsontext.Value(at(t, result, "/structuredContent")), `{"n":1}`)
	})
}

func TestInvalidResultsAreSentWhenTheyAreAllowed(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		for _, test := range []struct {
			result       *mcp.CallToolResult
			want, logged string
		}{
			{
				&mcp.CallToolResult{Content: mcp.Contents{mcp.Text("x")}, StructuredContent: jsontext.Value(`{"n":"1"}`)},
				`{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":"1"}}`, "/n",
			},
			{
				&mcp.CallToolResult{Content: mcp.Contents{mcp.Text("x")}},
				`{"content":[{"type":"text","text":"x"}]}`, "no structured content",
			},
		} {
			logged := new(logbook)
			srv := newServer(&mcpserver.Options{Logger: textLog(logged), AllowInvalidResults: true})
			def := mcp.Tool{Name: "a", OutputSchema: jsontext.Value(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)}
			srv.AddTool(def, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return test.result, nil })
			same(t, withoutEnvelope(t, dial(t, srv, r).Must("tools/call", `{"name":"a"}`)), test.want)
			if got := logged.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "tool=a") || !strings.Contains(got, test.logged) {
				t.Errorf("got log %s, want a warning with the tool and %q", got, test.logged)
			}
		}
	})
}

// payment has an amount of a type of another package, which writes its own JSON.
type payment struct {
	Amount *big.Int `json:"amount"`
}

func TestSchemasOfTypesOfOtherPackagesAreGivenInTheOptions(t *testing.T) {
	double := func(_ context.Context, in payment) (payment, error) {
		return payment{new(big.Int).Add(in.Amount, in.Amount)}, nil
	}
	if text := panicText(t, func() { newServer(nil).Tool("double", "", double) }); !strings.Contains(text, "field Amount: big.Int reads and writes its own JSON") {
		t.Errorf("got %q, want the reason that there is no schema", text)
	}
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{Schemas: []schema.Option{schema.Describe[big.Int](jsontext.Value(`{"type":"integer","minimum":1}`))}})
		srv.Tool("double", "", double)
		w := dial(t, srv, r)
		if got := at(t, w.Must("tools/list", ""), "/tools/0/inputSchema/properties/amount"); got != `{"minimum":1,"type":"integer"}` {
			t.Errorf("got schema %s, want that of the options", got)
		}
		result := w.Must("tools/call", `{"name":"double","arguments":{"amount":9223372036854775808}}`)
		if got := at(t, result, "/content/0/text"); got != `"{\"amount\":18446744073709551616}"` {
			t.Errorf("got %s, want the double, exactly", got)
		}
		if got := at(t, w.Must("tools/call", `{"name":"double","arguments":{"amount":0}}`), "/isError"); got != "true" {
			t.Errorf("got %s, want that 0 is refused", got)
		}
	})
}

func TestInvalidSchemasOfTheOptionsPanic(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		opts []schema.Option
		want string
	}{
		{[]schema.Option{{}}, "Schemas: an option is empty"},
		{[]schema.Option{schema.Describe[big.Int](nil)}, `Schemas: big.Int: option Describe: schema "": want one JSON object`},
		{[]schema.Option{schema.Describe[big.Int](jsontext.Value(`{}`)), schema.Describe[big.Int](jsontext.Value(`{}`))}, "Schemas: big.Int: option Describe is given twice"},
		{[]schema.Option{schema.Describe[big.Int](jsontext.Value(`{"type":"nothing"}`))}, "Schemas: big.Int: option Describe: schema: /type:"},
	} {
		if text := panicText(t, func() { newServer(&mcpserver.Options{Schemas: test.opts}) }); !strings.Contains(text, test.want) {
			t.Errorf("got %q, want %q in it", text, test.want)
		}
	}
}
