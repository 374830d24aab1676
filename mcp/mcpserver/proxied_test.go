package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// dialUnchecked is dial for a server that passes on what is not valid.
func dialUnchecked(t *testing.T, srv *mcpserver.Server, r mcp.Revision) *wire {
	t.Helper()
	ours, theirs := memory.Pair()
	w := attach(t, srv, ours, theirs)
	w.Initialize(r, `{}`)
	return w
}

// proxiedTool registers a tool of another server that returns what the test wants.
func proxiedTool(t *testing.T, def mcp.Tool, result *mcp.CallToolResult) *mcpserver.Server {
	t.Helper()
	def.Name = "theirs"
	srv := newServer(nil)
	if err := srv.SetTool(def, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return result, nil }, mcpserver.Proxied()); err != nil {
		t.Fatal(err)
	}
	return srv
}

func TestProxiedToolIsListedWithItsSchemaAsItCame(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"an object", `{"type":"object","$ref":"https://example.com/unknown.json"}`, `{"type":"object","$ref":"https://example.com/unknown.json"}`},
		{"nothing", `{}`, `{"type":"object"}`},
		{"true", `true`, `{"type":"object"}`},
		{"anyOf at the root", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`},
		{"a list of types", `{"type":["object","null"],"title":"x"}`, `{"type":"object","title":"x"}`},
		{"properties of another type", `{"type":"object","properties":["x"],"required":{"x":true},"title":"t"}`, `{"type":"object","title":"t"}`},
		{"a property and a name of another type", `{"type":"object","properties":{"x":7,"y":{"type":"string"},"z":null},"required":["y",7,null]}`, `{"type":"object","properties":{"y":{"type":"string"}},"required":["y"]}`},
		{"draft-04", `{"type":"object","properties":{"n":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`, `{"type":"object","properties":{"n":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`},
		{"a pattern that does not compile", `{"type":"object","properties":{"n":{"pattern":"(?<!a)b"}}}`, `{"type":"object","properties":{"n":{"pattern":"(?<!a)b"}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				w := dial(t, proxiedTool(t, mcp.Tool{InputSchema: jsontext.Value(test.schema)}, &mcp.CallToolResult{}), r)
				same(t, jsontext.Value(at(t, w.Must("tools/list", ""), "/tools/0/inputSchema")), test.want)
				w.Must("tools/call", `{"name":"theirs","arguments":{"n":"neither a number nor b"}}`)
			})
		})
	}
}

func TestToolThatNoClientCanCallIsNotProxied(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"string"}`:  "want object",
		`[]`:                 "want an object",
		`{"type":["array"]}`: "want object",
		`{"type":"object"`:   "want JSON",
		`{"type":"object","properties":{"x":{"type":"array","x-mcp-header":"X"}}}`: "x-mcp-header",
	} {
		err := newServer(nil).SetTool(mcp.Tool{Name: "theirs", InputSchema: jsontext.Value(schema)},
			func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, nil }, mcpserver.Proxied())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", schema, err, want)
		}
	}
}

func TestProxiedResultsAreSentAsTheyCame(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		def := mcp.Tool{InputSchema: jsontext.Value(`{"type":"object"}`), OutputSchema: jsontext.Value(`{"type":"object","required":["sum"]}`)}
		odd := &mcp.CallToolResult{
			Content:           mcp.Contents{mcp.ImageContent{MIMEType: "picture", Data: []byte("x")}, mcp.ResourceLink{URI: "x:y"}, mcp.Text("7")},
			StructuredContent: jsontext.Value(`{"total":7}`),
		}
		got := string(dialUnchecked(t, proxiedTool(t, def, odd), r).Must("tools/call", `{"name":"theirs"}`))
		for _, want := range []string{`"mimeType":"picture"`, `"uri":"x:y"`, `"text":"7"`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s, want it with %s", got, want)
			}
		}

		srv := newServer(nil)
		if err := srv.SetPrompt(mcp.Prompt{Name: "theirs", Arguments: []mcp.PromptArgument{{Name: "a", Required: true}, {Name: "a"}}},
			func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
				return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: "system", Content: mcp.Text("be kind")}}}, nil
			}, mcpserver.Proxied()); err != nil {
			t.Fatal(err)
		}
		if got := at(t, dialUnchecked(t, srv, r).Must("prompts/get", `{"name":"theirs"}`), "/messages/0/role"); got != `"system"` {
			t.Errorf("got the role %s, want that of the other server", got)
		}
	})
}

func TestProxiedResourcesNeedNoGrammar(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		read := func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, MIMEType: "text", Text: "theirs"}}}, nil
		}
		srv := newServer(nil)
		for _, err := range []error{
			srv.SetResource(mcp.Resource{URI: "no scheme", MIMEType: "text"}, read, mcpserver.Proxied()),
			srv.SetTemplate(mcp.ResourceTemplate{URITemplate: "notes://{a b}/{", Name: "odd"}, read, mcpserver.Proxied()),
			srv.SetTemplate(mcp.ResourceTemplate{URITemplate: "notes://{day}", Name: "good"}, read, mcpserver.Proxied()),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		w := dialUnchecked(t, srv, r)
		if got := string(w.Must("resources/templates/list", "")); !strings.Contains(got, "notes://{a b}/{") {
			t.Errorf("got %s, want the text that is no template in it", got)
		}
		for _, uri := range []string{"no scheme", "notes://today"} {
			if got := at(t, w.Must("resources/read", `{"uri":"`+uri+`"}`), "/contents/0/mimeType"); got != `"text"` {
				t.Errorf("%s: got the type %s, want that of the other server", uri, got)
			}
		}
	})
}

// An author has to know that clients do not get a key. What another server has answered is passed on without it.
func TestMetadataKeyOffTheGrammarIsAnErrorOfAuthorsAlone(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		base := mcp.ResultBase{Meta: mcp.Meta{"my key": jsontext.Value(`1`), "ours": jsontext.Value(`2`)}}
		for _, proxied := range []bool{false, true} {
			srv := newServer(nil)
			var (
				tools     []mcpserver.ToolOption
				prompts   []mcpserver.PromptOption
				resources []mcpserver.ResourceOption
			)
			if proxied {
				tools, prompts, resources = append(tools, mcpserver.Proxied()), append(prompts, mcpserver.Proxied()), append(resources, mcpserver.Proxied())
			}
			for _, err := range []error{
				srv.SetTool(mcp.Tool{Name: "x", InputSchema: jsontext.Value(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
					return &mcp.CallToolResult{ResultBase: base}, nil
				}, tools...),
				srv.SetPrompt(mcp.Prompt{Name: "x"}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
					return &mcp.GetPromptResult{ResultBase: base}, nil
				}, prompts...),
				srv.SetResource(mcp.Resource{URI: "x://y", Name: "x"}, func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
					return &mcp.ReadResourceResult{ResultBase: base, Contents: []mcp.ResourceContents{{URI: p.URI}}}, nil
				}, resources...),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			w := dial(t, srv, r)
			for method, params := range map[string]string{"tools/call": `{"name":"x"}`, "prompts/get": `{"name":"x"}`, "resources/read": `{"uri":"x://y"}`} {
				if !proxied {
					w.Refused(method, params, -32603)
					continue
				}
				if got := w.Must(method, params); strings.Contains(string(got), "my key") || at(t, got, "/_meta/ours") != `2` {
					t.Errorf("%s: got %s, want the good key alone", method, got)
				}
			}
		}
	})
}
