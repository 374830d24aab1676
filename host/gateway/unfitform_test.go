package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestFormThatNoAnswerCanBeCheckedWithIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	t.Parallel()
	const form = `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":-1}}}}`
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		srv := mcpserver.New("odd", "1", &mcpserver.Options{Revisions: []mcp.Revision{up}, Logger: quiet})
		srv.AddTool(mcp.Tool{Name: "ask"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: jsontext.Value(form)}}}, nil
		})
		p := &personAtHost{answer: accepts(`{"name":"Ada"}`)}
		g := startWith(t, &gateway.Options{AskPerson: p.ask}, host.Upstream{Key: "odd", Target: mcpclient.InProcess(srv)})
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		result, err := c.CallTool(t.Context(), "odd__ask", nil)
		if p.questions() != nil || err == nil && !result.IsError {
			t.Errorf("%s: got %+v, %v and the questions %q, want the form refused", up, result, err, p.questions())
		}
	}
}

// A client of 2026-07-28 is asked once more, with the reason, and then the server learns it.
func TestAnswerThatDoesNotFitAFormIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	i := newAskingServer(mcp.V20251125)
	g, _ := i.open(t)
	c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer), mcptest.CheckOnly(mcptest.Server))
	for _, unfit := range []string{`{"action":"accept","content":{"name":7}}`, `{"action":"accept","content":{}}`, `{"action":"accept","content":null}`, `{"action":"perhaps"}`} {
		asks := round(t, c, "a__stay", with(round(t, c, "a__stay"), unfit))
		for _, in := range asks.InputRequests {
			if text := string(in.Params); !strings.Contains(text, "The last answer does not fit: ") {
				t.Errorf("%s: got %s, want it to say why it is asked again", unfit, text)
			}
		}
		result, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(asks, unfit))
		if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "the answer does not fit, as the one before: ") {
			t.Errorf("%s: got %+v, %v, want the call ended with the reason", unfit, result, err)
		}
	}
	result, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(round(t, c, "a__stay"), adaAnswers))
	if err != nil || result.Content.Text() != "Welcome Ada" {
		t.Errorf("got %+v, %v, want an answer that fits taken", result, err)
	}
}
