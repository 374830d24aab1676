package frommcpgo_test

import (
	"context"
	jsonv1 "encoding/json"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/frommcpgo"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// TestContentPassesUnchanged compares the content of each kind, with annotations and
// metadata, with the JSON of mcp-go.
func TestContentPassesUnchanged(t *testing.T) {
	priority := 0.5
	annotated := mcpgotypes.Annotated{Annotations: &mcpgotypes.Annotations{Audience: []mcpgotypes.Role{"user"}, Priority: &priority}}
	meta := &mcpgotypes.Meta{AdditionalFields: map[string]any{"example.com/key": map[string]any{"n": 1}}}
	for name, content := range map[string]mcpgotypes.Content{
		"text":          mcpgotypes.TextContent{Type: "text", Text: "a \u2028 <b> \"c\"", Annotated: annotated, Meta: meta},
		"image":         mcpgotypes.ImageContent{Type: "image", Data: "AAH/", MIMEType: "image/png", Annotated: annotated, Meta: meta},
		"audio":         mcpgotypes.AudioContent{Type: "audio", Data: "Bw==", MIMEType: "audio/wav", Annotated: annotated, Meta: meta},
		"resource link": mcpgotypes.NewResourceLink("file:///a", "a", "the a", "text/plain"),
		"embedded text": mcpgotypes.NewEmbeddedResource(mcpgotypes.TextResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "hello"}),
		"embedded blob": mcpgotypes.NewEmbeddedResource(mcpgotypes.BlobResourceContents{URI: "file:///b", Blob: "YmxvYg=="}),
		"empty text":    mcpgotypes.NewTextContent(""),
	} {
		t.Run(name, func(t *testing.T) {
			other := newOther()
			want := &mcpgotypes.CallToolResult{
				Result:            mcpgotypes.Result{Meta: &mcpgotypes.Meta{AdditionalFields: map[string]any{"example.com/result": true}}},
				Content:           []mcpgotypes.Content{content, mcpgotypes.NewTextContent(`{"big":12345678901234567890,"f":1.50}`)},
				StructuredContent: jsonv1.RawMessage(`{"big":12345678901234567890,"f":1.50}`),
			}
			other.AddTool(mcpgotypes.NewTool("get"), func(context.Context, mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
				return want, nil
			})
			theirs, err := jsonv1.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			mirrortest.CheckResult(t, mounted(t, other), theirs)
		})
	}
}

func TestMiddlewareAndHooksRunUnchanged(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]int)
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen[what]++
	}
	hooks := new(mcpgo.Hooks)
	hooks.AddBeforeCallTool(func(context.Context, any, *mcpgotypes.CallToolRequest) { note("hook") })
	other := newOther(mcpgo.WithHooks(hooks), mcpgo.WithToolHandlerMiddleware(func(next mcpgo.ToolHandlerFunc) mcpgo.ToolHandlerFunc {
		return func(ctx context.Context, r mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
			note("middleware")
			return next(ctx, r)
		}
	}))
	other.AddTool(tool("echo"), toolHandler(mirrortest.Echo))
	if _, err := mcptest.Connect(t, mounted(t, other), nil).CallTool(t.Context(), "echo", nil); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen["hook"] != 1 || seen["middleware"] != 1 {
		t.Errorf("got %v, want one run of each", seen)
	}
}

type teamKey struct{}

func TestContextOfHandlersIsThatOfTheOption(t *testing.T) {
	other := newOther()
	other.AddTool(tool("team"), func(ctx context.Context, _ mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
		return mcpgotypes.NewToolResultText(ctx.Value(teamKey{}).(string)), nil
	})
	server, err := frommcpgo.NewServer(other, nil, &frommcpgo.Options{Context: func(ctx context.Context, r *mcpserver.Request) context.Context {
		return context.WithValue(ctx, teamKey{}, r.Method())
	}})
	if err != nil {
		t.Fatal(err)
	}
	mcptest.EachRevision(t, server, func(t *testing.T, c *mcpclient.Client) {
		if got, want := mirrortest.Said(c.CallTool(t.Context(), "team", nil)), mcp.MethodToolsCall; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
