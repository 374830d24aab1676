package mcpclient_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A server of a session that asks by itself learns which field it may ask for again.
func TestServerLearnsWhichFieldDoesNotFitItsForm(t *testing.T) {
	t.Parallel()
	form := raw(`{"type":"object","properties":{"town":{"type":"string"},"row":{"type":"integer","maximum":40}},"required":["town"]}`)
	srv := mcpserver.New("inquirer", "1", &mcpserver.Options{Logger: quiet()})
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		var answer jsontext.Value
		err := mcpserver.From(ctx).Call(ctx, mcp.MethodElicit, &mcp.ElicitParams{Message: "?", RequestedSchema: form}, &answer)
		if err == nil {
			return string(answer), nil
		}
		return err.Error(), nil
	})
	for content, want := range map[string]string{
		`{"town":"Rome","row":400}`: "content/row: want at most 40",
		`{"row":4}`:                 `missing "town"`,
		`"Rome"`:                    "content: want object, got string",
	} {
		c := connect(t, mcpclient.InProcess(srv), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20250618}, Logger: quiet(),
			ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: raw(content)}, nil
			},
		})
		got, err := c.Call[string](t.Context(), "ask", nil)
		if err != nil || !strings.Contains(got, "-32602") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, %v, want -32602 with %q", content, got, err, want)
		}
	}
}
