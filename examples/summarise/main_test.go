package main

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestSamplingSummarises(t *testing.T) {
	mcptest.EachRevision(t, newServer(), func(t *testing.T, c *mcpclient.Client) {
		mcptest.Answer(c, "summary", &mcp.CreateMessageResult{
			Role: mcp.RoleAssistant, Model: "any", Content: mcp.Contents{mcp.Text("It was long.")},
		})
		got, err := c.Call[string](t.Context(), "summarise", Text{"It went on and on."})
		if err != nil || got != "It was long." {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
