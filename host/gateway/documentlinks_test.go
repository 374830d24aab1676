package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// linkDocument adds a tool whose metadata link to a document, in both forms.
func linkDocument(srv *mcpserver.Server, uri string) {
	srv.AddTool(mcp.Tool{Name: "show", InputSchema: []byte(`{"type":"object"}`), Meta: mcp.Meta{
		"ui":             jsontext.Value(`{"visibility":["app"],"resourceUri":"` + uri + `"}`),
		"ui/resourceUri": jsontext.Value(`"` + uri + `"`),
		"example.com/x":  jsontext.Value(`1`),
	}}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return &mcp.CallToolResult{}, nil })
}

// A document shows what the tool returns, and calls tools. So the link of a tool leads to a
// document of its own server, or there is none.
func TestToolsLinkToDocumentsOfTheirOwnServerOnly(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-232")
	const uri = "ui://app/page"
	for _, test := range []struct {
		name         string
		first, later func(*mcpserver.Server)
		holder       string
		linked       []string // the upstreams whose tool keeps its link
	}{
		{
			"the document of the first server",
			func(srv *mcpserver.Server) { offer(srv, uri); linkDocument(srv, uri) },
			func(srv *mcpserver.Server) { linkDocument(srv, uri) }, "first",
			[]string{"first"},
		},
		{
			"the same URI listed by a server before",
			func(srv *mcpserver.Server) { offer(srv, uri) },
			func(srv *mcpserver.Server) { offer(srv, uri); linkDocument(srv, uri) }, "first", nil,
		},
		{
			"an unlisted document, and a template of another server",
			func(srv *mcpserver.Server) {
				srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "ui://{+any}", Name: "all"}, saying("first"))
			},
			func(srv *mcpserver.Server) { linkDocument(srv, uri) }, "later",
			[]string{"later"},
		},
		{
			"a qualified URI",
			func(srv *mcpserver.Server) { offer(srv, uri) },
			func(srv *mcpserver.Server) { linkDocument(srv, "fondaco://first/"+uri) }, "first", nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, later := librarian("first", nil), librarian("later", nil)
				test.first(first)
				test.later(later)
				g := start(t, upstream("first", first), upstream("later", later))
				c := mcptest.Connect(t, g.Server(), nil)
				linked := strings.Join(test.linked, " ")
				for tool, err := range c.Tools(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					key, name, _ := strings.Cut(tool.Name, "__")
					if name != "show" {
						continue
					}
					keeps := strings.Contains(linked, key)
					_, flat := tool.Meta["ui/resourceUri"]
					nested := strings.Contains(string(tool.Meta["ui"]), uri)
					if flat != keeps || nested != keeps {
						t.Errorf("%s: got %s, want its link kept: %t", tool.Name, tool.Meta, keeps)
					}
					if tool.Meta["example.com/x"] == nil || !strings.Contains(string(tool.Meta["ui"]), `"visibility":["app"]`) {
						t.Errorf("%s: got %s, want all else kept", tool.Name, tool.Meta)
					}
				}
				wantOwner(t, c, uri, test.holder)
			})
		})
	}
}
