package fromgosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestContentPassesUnchanged compares the content of each kind, with annotations and
// metadata, with the JSON of go-sdk.
func TestContentPassesUnchanged(t *testing.T) {
	priority := &gosdk.Annotations{Audience: []gosdk.Role{"user"}, Priority: 0.5, LastModified: "2025-01-02T03:04:05Z"}
	meta := gosdk.Meta{"example.com/key": map[string]any{"n": 1.0}}
	size := int64(12)
	for name, content := range map[string]gosdk.Content{
		"text":              &gosdk.TextContent{Text: "a \u2028 <b> \"c\"", Meta: meta, Annotations: priority},
		"image":             &gosdk.ImageContent{Data: []byte{0, 1, 255}, MIMEType: "image/png", Meta: meta, Annotations: priority},
		"audio":             &gosdk.AudioContent{Data: []byte{7}, MIMEType: "audio/wav", Meta: meta, Annotations: priority},
		"resource link":     &gosdk.ResourceLink{URI: "file:///a", Name: "a", Title: "A", Description: "the a", MIMEType: "text/plain", Size: &size, Meta: meta, Annotations: priority},
		"embedded text":     &gosdk.EmbeddedResource{Resource: &gosdk.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "hello", Meta: meta}, Meta: meta, Annotations: priority},
		"embedded blob":     &gosdk.EmbeddedResource{Resource: &gosdk.ResourceContents{URI: "file:///b", Blob: []byte("blob")}},
		"empty text":        &gosdk.TextContent{},
		"embedded no bytes": &gosdk.EmbeddedResource{Resource: &gosdk.ResourceContents{URI: "file:///c", Blob: []byte{}}},
	} {
		t.Run(name, func(t *testing.T) {
			other := newOther(nil)
			want := &gosdk.CallToolResult{
				Meta: gosdk.Meta{"example.com/result": true}, Content: []gosdk.Content{content, &gosdk.TextContent{Text: `{"big":12345678901234567890,"f":1.50}`}},
				StructuredContent: json.RawMessage(`{"big":12345678901234567890,"f":1.50}`),
			}
			other.AddTool(&gosdk.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) { return want, nil })
			theirs, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			mirrortest.CheckResult(t, mounted(t, other), theirs)
		})
	}
}

func TestErrorsOfHandlersPass(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "typed"}, func(context.Context, *gosdk.CallToolRequest, struct{}) (*gosdk.CallToolResult, any, error) {
		return nil, nil, errors.New("no such note")
	})
	other.AddTool(&gosdk.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
		return nil, errors.New("broken")
	})
	other.AddResource(&gosdk.Resource{URI: "note:///1", Name: "1"}, func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return nil, gosdk.ResourceNotFoundError(r.Params.URI)
	})
	mcptest.EachRevision(t, mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		result, err := c.CallTool(t.Context(), "typed", nil)
		if err != nil || !result.IsError || result.Content.Text() != "no such note" {
			t.Errorf("error of a typed handler: got %+v, %v, want it as a result that the model can read", result, err)
		}
		if got := mirrortest.Said(c.CallTool(t.Context(), "raw", nil)); !strings.Contains(got, "broken") {
			t.Errorf("error of a raw handler: got %s, want its text", got)
		}
		if _, err := c.ReadResource(t.Context(), "note:///1"); mcp.CodeOf(err) != mcp.CodeResourceNotFound && mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("missing resource: got %v", err)
		}
	})
}

func TestCompletionsOfTheOtherServer(t *testing.T) {
	other := newOther(&gosdk.ServerOptions{
		CompletionHandler: func(_ context.Context, r *gosdk.CompleteRequest) (*gosdk.CompleteResult, error) {
			return &gosdk.CompleteResult{Completion: gosdk.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "da"}}}, nil
		},
	})
	other.AddPrompt(&gosdk.Prompt{Name: "greet", Arguments: []*gosdk.PromptArgument{{Name: "who", Required: true}}}, nil)
	mcptest.EachRevision(t, mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		completion, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("greet"), Argument: mcp.CompleteArgument{Name: "who", Value: "A"}})
		if err != nil || len(completion.Values) != 1 || completion.Values[0] != "Ada" {
			t.Errorf("got %+v, %v, want Ada", completion, err)
		}
	})
}
