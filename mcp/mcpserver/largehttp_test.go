package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// large is the result of a tool with texts that are sent in parts, and one that is not.
func large(context.Context, struct{}) (*mcp.CallToolResult, error) {
	r := &mcp.CallToolResult{Content: mcp.Contents{
		mcp.Text(strings.Repeat("\"é\n\\", 5_000)), mcp.Text("short"), mcp.Text(strings.Repeat("x", 140_000)),
	}}
	return r, nil
}

func TestLargeResultsArriveWholeHoweverTheyAreSent(t *testing.T) {
	t.Parallel()
	for _, answer := range []mcpserver.ResponseMode{mcpserver.ResponseAuto, mcpserver.ResponseJSON, mcpserver.ResponseStream} {
		srv := newServer(&mcpserver.Options{PageSize: 1000, HTTP: &mcpserver.HTTPOptions{ResponseMode: answer}})
		srv.Tool("alone", "", large)
		srv.Tool("behind", "", func(ctx context.Context, in struct{}) (*mcp.CallToolResult, error) {
			mcpserver.Progress(ctx, 1, 1, "first")
			return large(ctx, in)
		})
		srv.Tool("later", "", func(ctx context.Context, in struct{}) (*mcp.CallToolResult, error) {
			mcpserver.CloseStream(ctx, time.Millisecond)
			return large(ctx, in)
		})
		for i := range 100 {
			srv.Tool(fmt.Sprint("tool", i), strings.Repeat("d", 100), large)
		}
		url := web(t, srv)
		for _, v := range revisions[1:] {
			c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{Revisions: []mcp.Revision{v}})
			if err != nil {
				t.Fatal(err)
			}
			want, _ := large(t.Context(), struct{}{})
			for _, name := range []string{"alone", "behind", "later"} {
				got, err := c.CallTool(t.Context(), name, nil, mcpclient.WithProgress(func(mcp.ProgressParams) {}))
				if err != nil || len(got.Content) != 3 {
					t.Fatalf("form %v, %v, %s: got %v", answer, v, name, err)
				}
				for i, text := range got.Content {
					if text.(mcp.TextContent).Text != want.Content[i].(mcp.TextContent).Text {
						t.Errorf("form %v, %v, %s: text %d came otherwise than it was sent", answer, v, name, i)
					}
				}
			}
			found := 0
			for _, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				found++
			}
			if found != 103 {
				t.Errorf("form %v, %v: got %d tools, want 103", answer, v, found)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
