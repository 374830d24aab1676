package mcptest_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// The code of docs/testing.md, and what it is about.

type (
	Pair  struct{ A, B int }
	Total struct {
		Total int `json:"total"`
	}
	Seat struct {
		Row int `json:"row" min:"1" max:"40"`
	}
)

func newServer() *mcpserver.Server {
	s := mcpserver.New("counter", "1.0.0", nil)
	s.Tool("add", "Adds two numbers", func(_ context.Context, in Pair) (Total, error) {
		return Total{in.A + in.B}, nil
	})
	s.Tool("book", "Books a seat", func(ctx context.Context, _ struct{}) (string, error) {
		seat, err := mcpserver.Ask[Seat](ctx, "seat", "Which row?")
		if err != nil {
			return "", err
		}
		if seat.Row < 10 {
			return "in front", nil
		}
		return "behind", nil
	})
	return s
}

func TestAdd(t *testing.T) {
	mcptest.EachRevision(t, newServer(), func(t *testing.T, c *mcpclient.Client) {
		sum, err := c.Call[Total](t.Context(), "add", Pair{40, 2})
		if err != nil || sum.Total != 42 {
			t.Errorf("got %+v, %v, want 42", sum, err)
		}
	})
}

func TestAddOverHTTP(t *testing.T) {
	url := mcptest.HTTP(t, newServer().HTTPHandler())
	c := mcptest.Connect(t, mcpclient.URL(url), nil)
	if sum, err := c.Call[Total](t.Context(), "add", Pair{40, 2}); err != nil || sum.Total != 42 {
		t.Errorf("got %+v, %v, want 42", sum, err)
	}
}

func TestBook(t *testing.T) {
	c := mcptest.Connect(t, newServer(), nil)
	mcptest.Answer(c, "seat", Seat{Row: 4})
	if got, err := c.Call[string](t.Context(), "book", nil); err != nil || got != "in front" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestBookInEachRevision(t *testing.T) {
	mcptest.EachRevision(t, newServer(), func(t *testing.T, c *mcpclient.Client) {
		if v := c.Revision(); v == mcp.V20241105 || v == mcp.V20250326 {
			return // the revision has no elicitation
		}
		mcptest.Answer(c, "seat", Seat{Row: 4})
		if got, err := c.Call[string](t.Context(), "book", nil); err != nil || got != "in front" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestSurface(t *testing.T) {
	mcptest.CheckSurface(t, mcptest.Connect(t, newServer(), nil), "testdata/surface.json")
}

func TestAddUnderGrease(t *testing.T) {
	mcptest.CheckLeaks(t)
	s := mcptest.WrapConn(newServer(), func(conn mcp.Conn) mcp.Conn { return mcptest.Grease(t, conn, 1) })
	c := mcptest.Connect(t, s, nil)
	if sum, err := c.Call[Total](t.Context(), "add", Pair{40, 2}); err != nil || sum.Total != 42 {
		t.Errorf("got %+v, %v, want 42", sum, err)
	}
}

// The guide shows code that runs: each block of Go is in this file or among the
// examples.
func TestCodeOfTheGuideRuns(t *testing.T) {
	t.Parallel()
	var code string
	for _, name := range []string{"guide_test.go", "example_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code += string(text)
	}
	guide, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(guide), "```go\n")[1:]
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(code, block) {
			t.Errorf("no test holds\n%s", block)
		}
	}
	if len(blocks) < 4 {
		t.Errorf("got %d blocks of Go", len(blocks))
	}
}
