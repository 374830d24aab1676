// Package tests tests a server.
package tests

import (
	"context"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

type person struct {
	Name string `json:"name"`
}

type consent struct {
	Delete bool `json:"delete"`
}

func newServer() *mcpserver.Server {
	srv := mcpserver.New("server", "1.0.0", nil)
	srv.Tool("greet", "Greets somebody", func(_ context.Context, in person) (string, error) { return "Hello, " + in.Name + "!", nil })
	srv.Tool("remove", "Removes a person", func(ctx context.Context, in person) (string, error) {
		c, err := mcpserver.Ask[consent](ctx, "consent", "Delete "+in.Name+"?")
		if err != nil || !c.Delete {
			return "Nothing was deleted.", err
		}
		return in.Name + " is deleted.", nil
	})
	return srv
}

func TestGreet(t *testing.T) {
	c := mcptest.Connect(t, newServer(), nil)
	if got, err := c.Call[string](t.Context(), "greet", person{"Ada"}); err != nil || got != "Hello, Ada!" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := c.Call[string](t.Context(), "greet", nil); err == nil || !strings.Contains(err.Error(), "name") {
		t.Errorf("got %v, want an error that says what is missing", err)
	}
}

func TestRemoveAsksTheUser(t *testing.T) {
	asking := mcptest.ClientOptions(&mcpclient.Options{Revisions: []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728}})
	mcptest.EachRevision(t, newServer(), func(t *testing.T, c *mcpclient.Client) {
		mcptest.Answer(c, "consent", consent{true})
		if got, err := c.Call[string](t.Context(), "remove", person{"Ada"}); err != nil || got != "Ada is deleted." {
			t.Errorf("got %q, %v", got, err)
		}
		mcptest.Answer(c, "consent", mcp.ElicitDecline)
		if _, err := c.Call[string](t.Context(), "remove", person{"Ada"}); err == nil {
			t.Error("got no error, want that the user declined")
		}
	}, asking)
}
