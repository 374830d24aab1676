package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// readURI reads every resource as its URI.
func readURI(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: p.URI}}}, nil
}

type fileName struct {
	Name string `json:"name"`
}

func TestTemplateRefusesValuesThatLeadOutOfTheirPlace(t *testing.T) {
	claim.Shows(t, "R-231a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		var read []string
		srv := newServer(nil)
		srv.Template("file:///docs/{name}", "file", "text/plain", func(_ context.Context, v fileName) ([]byte, error) {
			read = append(read, v.Name)
			return []byte(v.Name), nil
		})
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "tree:///{+path}", Name: "tree"}, func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			read = append(read, p.URI)
			return readURI(context.Background(), p)
		})
		w := dial(t, srv, r)
		for _, test := range []struct{ uri, variable string }{
			{"file:///docs/..", "name"},
			{"file:///docs/%2e%2e%2fsecret", "name"},
			{"file:///docs/a%5C..%5Cb", "name"},
			{"file:///docs/a%00.txt", "name"},
			{"tree:///../secret", "path"},
			{"tree:////etc/passwd", "path"},
			{"tree:///C:/boot.ini", "path"},
		} {
			err := w.Refused("resources/read", fmt.Sprintf(`{"uri":%q}`, test.uri), -32602)
			for _, want := range []string{fmt.Sprintf("variable %q", test.variable), fmt.Sprintf("UncheckedVariables(%q)", test.variable)} {
				if !strings.Contains(err.Message, want) {
					t.Errorf("%s: got %q, want %s in it", test.uri, err.Message, want)
				}
			}
		}
		if len(read) > 0 {
			t.Errorf("handlers ran for %q, want none to run", read)
		}
		w.Must("resources/read", `{"uri":"file:///docs/a..b.txt"}`)
		w.Must("resources/read", `{"uri":"tree:///a/b"}`)
	})
}

func TestAnotherTemplateServesWhatOneRefuses(t *testing.T) {
	claim.Shows(t, "R-231a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		add := func(text string, opts ...mcpserver.ResourceOption) {
			srv.AddTemplate(mcp.ResourceTemplate{URITemplate: text, Name: text}, func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: text}}}, nil
			}, opts...)
		}
		add("a:///{name}")
		add("a:///{some}", mcpserver.UncheckedVariables("some"))
		result := dial(t, srv, r).Must("resources/read", `{"uri":"a:///x%2Fy"}`)
		if got := at(t, result, "/contents/0/text"); got != `"a:///{some}"` {
			t.Errorf("read by %s, want the template whose variable is unchecked", got)
		}
	})
}

func TestTemplateThatRefusesAValueIsUnknownWhereItIsHidden(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "secret://{name}", Name: "hidden"}, readURI, hidden())
		srv.Resource("a://b", "b", "", fixed("b"))
		w := dial(t, srv, r)
		code := map[bool]int{true: -32602, false: -32002}[isModern(r)]
		if err := w.Refused("resources/read", `{"uri":"secret://.."}`, code); !strings.Contains(err.Message, "not found") {
			t.Errorf("got %q, want that it is not found", err.Message)
		}
	})
}

func TestRefusedValueCannotBeSubscribedTo(t *testing.T) {
	srv := newServer(nil)
	srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "file:///{name}", Name: "file"}, readURI)
	w := dial(t, srv, mcp.V20251125)
	w.Must("resources/subscribe", `{"uri":"file:///a"}`)
	w.Refused("resources/subscribe", `{"uri":"file:///%2e%2e"}`, -32002)
}

func TestUncheckedVariablesMayHaveAnyText(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "one://{+path}/{name}", Name: "one"}, readURI, mcpserver.UncheckedVariables("path"))
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "all://{+path}/{name}", Name: "all"}, readURI, mcpserver.UncheckedVariables())
		w := dial(t, srv, r)
		w.Must("resources/read", `{"uri":"one:///etc/../a"}`)
		w.Must("resources/read", `{"uri":"all:///etc/.."}`)
		if err := w.Refused("resources/read", `{"uri":"one:///etc/.."}`, -32602); !strings.Contains(err.Message, `variable "name"`) {
			t.Errorf("got %q, want an error of the variable name", err.Message)
		}
	})
}

func TestUncheckedVariablesOfNoTemplateAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		register func(*mcpserver.Server)
		want     string
	}{
		{func(s *mcpserver.Server) {
			s.AddTemplate(mcp.ResourceTemplate{URITemplate: "a://{b}", Name: "a"}, readURI, mcpserver.UncheckedVariables("c"))
		}, `template "a://{b}": option UncheckedVariables: want variables of the template: [b]`},
		{func(s *mcpserver.Server) {
			s.AddResource(mcp.Resource{URI: "a://b", Name: "a"}, readURI, mcpserver.UncheckedVariables())
		}, `resource "a://b": option UncheckedVariables: it is for templates`},
	} {
		if text := panicText(t, func() { test.register(newServer(nil)) }); text != test.want {
			t.Errorf("got %q, want %q", text, test.want)
		}
	}
}
