package frommcpgo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/frommcpgo"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
)

func TestSingleFeaturesAreServedBesideOurs(t *testing.T) {
	server := mcpserver.New("ours", "1.0.0", nil)
	server.Tool("own", "", func(context.Context, struct{}) (string, error) { return "own", nil })
	frommcpgo.Tool(server, echoTool, echo, mcpserver.ReadOnly())
	read := func(_ context.Context, r mcpgotypes.ReadResourceRequest) ([]mcpgotypes.ResourceContents, error) {
		return []mcpgotypes.ResourceContents{mcpgotypes.TextResourceContents{URI: r.Params.URI, Text: "at " + r.Params.URI}}, nil
	}
	frommcpgo.Resource(server, mcpgotypes.NewResource("note:///index", "index"), read)
	frommcpgo.Template(server, mcpgotypes.NewResourceTemplate("note:///n/{id}", "note"), read)
	frommcpgo.Prompt(server, mcpgotypes.NewPrompt("greet"), func(context.Context, mcpgotypes.GetPromptRequest) (*mcpgotypes.GetPromptResult, error) {
		return mcpgotypes.NewGetPromptResult("hello", nil), nil
	})
	mcptest.EachRevision(t, server, func(t *testing.T, c *mcpclient.Client) {
		for name, want := range map[string]string{"own": "own", "echo": "none"} {
			if got := text(c.CallTool(t.Context(), name, nil)); got != want {
				t.Errorf("tool %s: got %q, want %q", name, got, want)
			}
		}
		for _, uri := range []string{"note:///index", "note:///n/7"} {
			if result, err := c.ReadResource(t.Context(), uri); err != nil || result.Contents[0].Text != "at "+uri {
				t.Errorf("resource %s: got %+v, %v", uri, result, err)
			}
		}
		if result, err := c.GetPrompt(t.Context(), "greet", nil); err != nil || result.Description != "hello" {
			t.Errorf("prompt: got %+v, %v", result, err)
		}
	})
}

func TestNameThatIsTakenIsAnError(t *testing.T) {
	server := mcpserver.New("ours", "1.0.0", nil)
	server.Tool("echo", "", func(context.Context, struct{}) (string, error) { return "own", nil })
	other := newOther()
	other.AddTool(mcpgotypes.NewTool("another"), echo)
	other.AddTool(echoTool, echo)
	if _, err := frommcpgo.Mount(server, other, nil); err == nil || !strings.Contains(err.Error(), `"echo"`) {
		t.Errorf("Mount: got %v, want an error that names the tool", err)
	}
	c := mcptest.Connect(t, server, nil)
	if got := text(c.CallTool(t.Context(), "echo", nil)); got != "own" {
		t.Errorf("after a failed Mount: got %q, want the server's own tool", got)
	}
	for tool, err := range c.Tools(t.Context()) {
		if err != nil || tool.Name != "echo" {
			t.Errorf("after a failed Mount: got tool %q, %v, want echo alone", tool.Name, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Tool: got no panic")
		}
	}()
	frommcpgo.Tool(server, echoTool, echo)
}

func TestNewServerTakesNameAndInstructions(t *testing.T) {
	other := newOther()
	other.AddTool(echoTool, echo)
	server, err := frommcpgo.NewServer(other, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := server.Info(); got.Name != "notes" || got.Version != "2.1.0" {
		t.Errorf("got %+v, want the name and the version of the other server", got)
	}
}
