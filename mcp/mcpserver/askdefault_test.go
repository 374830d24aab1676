package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestFieldThatAnAnswerLeavesOutHasItsDefault(t *testing.T) {
	t.Parallel()
	type seat struct {
		Class string `json:"class" enum:"economy|business" default:"economy"`
		Seats int    `json:"seats" default:"1"`
		Aisle bool   `json:"aisle" default:"true"`
	}
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Tool("book", "Books a seat", func(ctx context.Context, _ struct{}) (seat, error) {
		return mcpserver.Ask[seat](ctx, "seat", "Which seat?")
	})
	for _, revision := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		for content, want := range map[string]seat{
			`{}`:                                 {"economy", 1, true},
			`{"seats": 2}`:                       {"economy", 2, true},
			`{"class":"business","aisle":false}`: {"business", 1, false},
		} {
			c := mcptest.Connect(t, srv, &mcpclient.Options{
				Revisions:  []mcp.Revision{revision},
				ElicitForm: answering(&mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(content)}),
			})
			if got, err := c.Call[seat](t.Context(), "book", nil); err != nil || got != want {
				t.Errorf("%s, %s: got %+v, %v, want %+v", revision, content, got, err, want)
			}
		}
	}
}
