package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// newRawServer returns a server whose tool, prompt and resource return an
// *mcp.InputRequiredResult while the question "confirm" has no answer, and otherwise pass
// the keys of their answers to got.
func newRawServer(got func(keys []string)) *mcpserver.Server {
	srv := newServer(nil)
	ask := func(in mcp.InputResponseParams, result mcp.Result) (mcp.Result, error) {
		if in.InputResponses["confirm"] == nil {
			return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"confirm": {Method: mcp.MethodRootsList}}}, nil
		}
		got(slices.Sorted(maps.Keys(in.InputResponses)))
		return result, nil
	}
	srv.AddTool(mcp.Tool{Name: "raw"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		return ask(p.InputResponseParams, &mcp.CallToolResult{})
	})
	srv.AddPrompt(mcp.Prompt{Name: "raw"}, func(_ context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
		return ask(p.InputResponseParams, &mcp.GetPromptResult{})
	})
	srv.AddResource(mcp.Resource{URI: "raw:one", Name: "raw"}, func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		return ask(p.InputResponseParams, &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "text"}}})
	})
	return srv
}

func TestRawHandlerIsBoundByTheLimitsOfQuestions(t *testing.T) {
	t.Parallel()
	many := make(map[string]mcp.InputRequest)
	for i := range 257 {
		many[strconv.Itoa(i)] = mcp.InputRequest{Method: mcp.MethodRootsList}
	}
	for name, test := range map[string]struct {
		asks map[string]mcp.InputRequest
		want string
	}{
		"too many": {many, "more than 256 questions at once"},
		"long key": {map[string]mcp.InputRequest{strings.Repeat("k", 65): {Method: mcp.MethodRootsList}}, "want 1 to 64 bytes"},
		"no key":   {map[string]mcp.InputRequest{"": {Method: mcp.MethodRootsList}}, "want 1 to 64 bytes"},
	} {
		for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			t.Run(name+" "+v.String(), func(t *testing.T) {
				t.Parallel()
				srv := newServer(nil)
				srv.AddTool(mcp.Tool{Name: "raw"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
					return &mcp.InputRequiredResult{InputRequests: test.asks}, nil
				})
				if m := dialAs(t, srv, v, canAll).Call("tools/call", `{"name":"raw"}`); !strings.Contains(string(m.Result), test.want) {
					t.Errorf("got %s, %v, want an error of the tool with %q", m.Result, m.Error, test.want)
				}
			})
		}
	}
}

func TestRawHandlerGetsOnlyAnswersToOpenQuestionsOfItsState(t *testing.T) {
	t.Parallel()
	for method, params := range map[string]string{
		"tools/call": `{"name":"raw"}`, "prompts/get": `{"name":"raw"}`, "resources/read": `{"uri":"raw:one"}`,
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			var got [][]string
			w := dialAs(t, newRawServer(func(keys []string) { got = append(got, keys) }), mcp.V20260728, canAll)
			first := w.Must(method, params)
			second := w.Must(method, retry(t, params, first, `{"other":{"roots":[]}}`))
			if at(t, second, "/resultType") != `"input_required"` || len(got) != 0 {
				t.Errorf("only an answer that nobody asked for: got %s and answers %v, want the question again", second, got)
			}
			last := w.Must(method, retry(t, params, first, `{"other":{"roots":[]},"confirm":{"roots":[]}}`))
			if at(t, last, "/resultType") != `"complete"` || len(got) != 1 || !slices.Equal(got[0], []string{"confirm"}) {
				t.Errorf("got %s and answers %v, want those to the open question", last, got)
			}
		})
	}
}

func TestRawHandlerGetsAnswersWithoutStateInRoundZero(t *testing.T) {
	t.Parallel()
	srv, round := newServer(nil), -1
	srv.AddTool(mcp.Tool{Name: "raw"}, func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		if p.InputResponses["confirm"] != nil {
			round = mcpserver.From(ctx).Round()
		}
		return &mcp.CallToolResult{}, nil
	})
	dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call", `{"name":"raw","inputResponses":{"confirm":{"roots":[]}}}`)
	if round != 0 {
		t.Errorf("got the answer in round %d, want it in round 0", round)
	}
}

func TestRawHandlerWithStateOnlyGetsNoAnswers(t *testing.T) {
	t.Parallel()
	srv, got := newServer(nil), map[string]jsontext.Value(nil)
	srv.AddTool(mcp.Tool{Name: "raw"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		if p.RequestState == nil {
			return &mcp.InputRequiredResult{RequestState: new("one")}, nil
		}
		got = p.InputResponses
		return &mcp.CallToolResult{}, nil
	})
	w := dialAs(t, srv, mcp.V20260728, canAll)
	w.Must("tools/call", retry(t, `{"name":"raw"}`, w.Must("tools/call", `{"name":"raw"}`), `{"confirm":{"roots":[]}}`))
	if len(got) != 0 {
		t.Errorf("got answers %v, want none", got)
	}
}

func TestWrapSeesWhatALaterRoundBrings(t *testing.T) {
	t.Parallel()
	var seen []string
	srv := newServer(nil)
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		var roots []mcp.Root
		return "done", mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &roots))
	}, mcpserver.Wrap(func(next mcpserver.ToolHandler) mcpserver.ToolHandler {
		return func(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			seen = append(seen, fmt.Sprint(p.RequestState != nil, len(p.InputResponses)))
			return next(ctx, p)
		}
	}))
	c := connectPlain(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}, Roots: func(context.Context) ([]mcp.Root, error) {
		return []mcp.Root{{URI: "file:///a"}}, nil
	}})
	if got, err := c.Call[string](t.Context(), "ask", nil); err != nil || got != "done" {
		t.Fatalf("got %q, %v", got, err)
	}
	if want := []string{"false 0", "true 1"}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q: whether there is a state, and how many answers", seen, want)
	}
}
