package mcpserver_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Many clients read no message of more than a few MiB.
func TestPagesOfListsAreLimitedInBytes(t *testing.T) {
	t.Parallel()
	for _, extra := range []bool{false, true} { // with a feature that only some requests see
		options := new(mcpserver.Options)
		var set *mcpserver.FeatureSet
		if extra {
			options.RequestFeatures = func(*mcpserver.Request) (listed, unlisted []*mcpserver.FeatureSet) {
				return []*mcpserver.FeatureSet{set}, nil
			}
		}
		srv := mcpserver.New("large", "1", options)
		set = srv.NewFeatureSet()
		tool := func(name string, size int) mcp.Tool {
			return mcp.Tool{Name: name, Description: strings.Repeat("\"", size/2), InputSchema: []byte(`{"type":"object"}`)}
		}
		handler := func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, nil }
		want := 0
		for i := range 40 {
			srv.AddTool(tool(fmt.Sprintf("t%02d", i), 200<<10), handler)
			want++
		}
		srv.AddTool(tool("t20-larger-than-a-page", 3<<20), handler)
		if err := set.AddTool(tool("u", 200<<10), handler); err != nil {
			t.Fatal(err)
		}
		want += 2
		if !extra {
			want--
		}
		s := &sender{t: t, handler: srv.HTTPHandler(), address: "127.0.0.1:1"}
		if !s.open() {
			t.Fatal("want a session")
		}
		params, listed, over := "{}", make(map[string]bool), 0
		for pages := 0; params != ""; pages++ {
			if pages > want {
				t.Fatal("want the list to end")
			}
			_, body := s.send(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`)
			var page struct{ Result mcp.ListToolsResult }
			if err := json.Unmarshal([]byte(body), &page, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			for _, tool := range page.Result.Tools {
				listed[tool.Name] = true
			}
			if len(body) > 1<<20 {
				over++
				if len(page.Result.Tools) != 1 {
					t.Errorf("got a page of %d bytes with %d tools, want at most 1 MiB", len(body), len(page.Result.Tools))
				}
			}
			params = ""
			if next := page.Result.NextCursor; next != nil {
				params = fmt.Sprintf(`{"cursor":%q}`, *next)
			}
		}
		if len(listed) != want || over != 1 {
			t.Errorf("got %d tools and %d large pages, want %d and the one of the tool that is larger", len(listed), over, want)
		}
	}
}
