package dialect_test

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func TestResultsOfSessionRevisionsHaveNoType(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		c, err := dialect.NewClient(dialect.Of(v), mcp.Implementation{}, mcp.ClientCapabilities{})
		if err != nil {
			t.Fatal(err)
		}
		for result, want := range map[string]string{
			`{"a":1,"resultType":"input_required","requestState":"s"}`: `{"a":1,"requestState":"s"}`,
			`{"result\u0054ype":"weird","a":{"resultType":2}}`:         `{"a":{"resultType":2}}`,
			`{"resultType":7}`: `{}`,
			`{"a": 1}`:         `{"a": 1}`,
			`"x"`:              `"x"`,
		} {
			got, err := c.Result(mcp.MethodToolsCall, jsonrpc.Message{Result: jsontext.Value(result)})
			switch {
			case v.Stateless():
				if want != result && err == nil && got.InputRequired == nil {
					t.Errorf("%s: %s: got %+v, want a question or an error", v, result, got)
				}
			case err != nil || got.Type != mcp.ResultComplete || got.InputRequired != nil || string(got.Result) != want:
				t.Errorf("%s: %s: got %s, %+v, %v, want %s", v, result, got.Result, got, err, want)
			}
		}
	}
}
