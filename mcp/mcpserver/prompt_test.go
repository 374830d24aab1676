package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type trip struct {
	From string `json:"from" title:"From" doc:"airport of departure"`
	To   string `json:"to,omitzero"`
	Days int    `json:"days,omitzero" min:"1"`
	Rush bool   `json:"rush,omitzero"`
}

func plan(_ context.Context, in trip) ([]mcp.PromptMessage, error) {
	return []mcp.PromptMessage{mcpserver.UserMessage(fmt.Sprintf("%s %s %d %v", in.From, in.To, in.Days, in.Rush))}, nil
}

func emptyPrompt(context.Context, struct{}) ([]mcp.PromptMessage, error) { return nil, nil }

func TestPromptIsListedWithItsArguments(t *testing.T) {
	claim.Shows(t, "R-237")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Prompt("plan", "Plan a trip", plan, mcpserver.Title("Plan"))
		same(t, jsontext.Value(at(t, dial(t, srv, r).Must("prompts/list", ""), "/prompts")), `[{
			"name":"plan","title":"Plan","description":"Plan a trip","arguments":[
			{"name":"from","title":"From","description":"airport of departure","required":true},
			{"name":"to"},{"name":"days"},{"name":"rush"}]}]`)
	})
}

func TestPromptGetsItsArguments(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Prompt("plan", "Plan a trip", plan)
		w := dial(t, srv, r)
		for _, test := range []struct{ arguments, want string }{
			{`{"from":"TRN"}`, "TRN  0 false"},
			{`{"from":"12","to":"true","days":"3","rush":"true"}`, "12 true 3 true"},
			{`{"from":"","days":"3.0"}`, "  3 false"},
			{`{"from":"a\"b\\"}`, `a"b\  0 false`},
		} {
			result := w.Must("prompts/get", `{"name":"plan","arguments":`+test.arguments+`}`)
			if got := decoded[string](t, jsontext.Value(at(t, result, "/messages/0/content/text"))); got != test.want {
				t.Errorf("%s: got %s, want %s", test.arguments, got, test.want)
			}
			if got := at(t, result, "/description") + at(t, result, "/messages/0/role"); got != `"Plan a trip""user"` {
				t.Errorf("got %s, want the description and the role", got)
			}
		}
	})
}

func TestBadPromptRequestIsAProtocolError(t *testing.T) {
	claim.Shows(t, "R-239a", "R-242a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Prompt("plan", "", plan)
		srv.AddPrompt(mcp.Prompt{Name: "raw", Arguments: []mcp.PromptArgument{{Name: "x", Required: true}}},
			func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) { return &mcp.GetPromptResult{}, nil })
		w := dial(t, srv, r)
		for _, test := range []struct{ params, want string }{
			{`{"name":"unknown"}`, `"unknown"`},
			{`{}`, `unknown`},
			{`{"name":"plan"}`, `from`},
			{`{"name":"plan","arguments":{"to":"OSL"}}`, `from`},
			{`{"name":"plan","arguments":{"from":"TRN","days":"0"}}`, `arguments/days`},
			{`{"name":"plan","arguments":{"from":"TRN","days":"many"}}`, `arguments/days`},
			{`{"name":"plan","arguments":{"from":"TRN","days":"1e99"}}`, `arguments/days`},
			{`{"name":"plan","arguments":{"from":"TRN","days":"{}"}}`, `arguments/days`},
			{`{"name":"plan","arguments":{"from":"TRN","rush":"1,\"to\":2"}}`, `arguments/rush`},
			{`{"name":"plan","arguments":{"from":"TRN","via":"OSL"}}`, `via`},
			{`{"name":"plan","arguments":{"from":7}}`, `/from`},
			{`{"name":"plan","arguments":["TRN"]}`, `arguments`},
			{`{"name":"raw"}`, `"x"`},
		} {
			if err := w.Refused("prompts/get", test.params, -32602); !strings.Contains(err.Message, test.want) || strings.Contains(err.Message, "Go ") {
				t.Errorf("%s: got %q, want %s named, and no word of the implementation", test.params, err.Message, test.want)
			}
		}
	})
}

func TestFailureOfAPromptIsPrivate(t *testing.T) {
	claim.Shows(t, "R-239b")
	messages := func(m ...mcp.PromptMessage) *mcp.GetPromptResult { return &mcp.GetPromptResult{Messages: m} }
	for _, test := range []struct {
		name   string
		result mcp.Result
		err    error
		logged string
	}{
		{"error", nil, errors.New("disk on fire"), "disk on fire"},
		{"nil", nil, nil, "nil"},
		{"typed nil", (*mcp.GetPromptResult)(nil), nil, "nil"},
		{"another nil", (*mcp.InputRequiredResult)(nil), nil, "nil"},
		{"role", messages(mcp.PromptMessage{Role: "system", Content: mcp.Text("x")}), nil, "want user or assistant"},
		{"no content", messages(mcp.PromptMessage{Role: mcp.RoleUser}), nil, "message 0"},
		{"no UTF-8", messages(mcpserver.UserMessage("\xff")), nil, "UTF-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEra(t, func(t *testing.T, r mcp.Revision) {
				logged := new(logbook)
				srv := newServer(&mcpserver.Options{Logger: textLog(logged)})
				srv.AddPrompt(mcp.Prompt{Name: "a"}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
					return test.result, test.err
				})
				err := dial(t, srv, r).Refused("prompts/get", `{"name":"a"}`, -32603)
				id := incident(t, err.Message)
				if !strings.Contains(logged.String(), test.logged) || !strings.Contains(logged.String(), id) {
					t.Errorf("got log %s, want %q and the incident %s", logged, test.logged, id)
				}
			})
		})
	}
}

func TestPromptWithoutMessagesHasAnEmptyList(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Prompt("empty", "", emptyPrompt)
		if got := at(t, dial(t, srv, r).Must("prompts/get", `{"name":"empty"}`), "/messages"); got != "[]" {
			t.Errorf("got %s, want []", got)
		}
	})
}

func TestInvalidPromptPanicsAtRegistration(t *testing.T) {
	t.Parallel()
	type nested struct {
		Who struct{} `json:"who"`
	}
	for _, test := range []struct {
		name     string
		register func(*mcpserver.Server)
		want     string
	}{
		{"no name", func(s *mcpserver.Server) { s.Prompt("", "", plan) }, `prompt "": the name is empty`},
		{"no handler", func(s *mcpserver.Server) { s.Prompt[trip]("a", "", nil) }, `prompt "a": the handler is nil`},
		{"no raw handler", func(s *mcpserver.Server) { s.AddPrompt(mcp.Prompt{Name: "a"}, nil) }, `prompt "a": the handler is nil`},
		{"nested", func(s *mcpserver.Server) {
			s.Prompt("a", "", func(context.Context, nested) ([]mcp.PromptMessage, error) { return nil, nil })
		}, `prompt "a": field "who": want a string`},
		{"no struct", func(s *mcpserver.Server) {
			s.Prompt("a", "", func(context.Context, string) ([]mcp.PromptMessage, error) { return nil, nil })
		}, `want a struct`},
		{"completion", func(s *mcpserver.Server) {
			s.Prompt("a", "", plan, mcpserver.CompleteArg("city", mcpserver.Prefix("Oslo")))
		}, `want arguments of the prompt: [from to days rush]`},
		{"argument twice", func(s *mcpserver.Server) {
			s.AddPrompt(mcp.Prompt{Name: "a", Arguments: []mcp.PromptArgument{{Name: "x"}, {Name: "x"}}},
				func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) { return nil, nil })
		}, `prompt "a": argument "x"`},
		{"twice", func(s *mcpserver.Server) {
			s.Prompt("a", "", plan)
			s.Prompt("a", "", plan)
		}, `prompt "a": registered already`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if text := panicText(t, func() { test.register(newServer(nil)) }); !strings.Contains(text, test.want) {
				t.Errorf("got %q, want %q in it", text, test.want)
			}
		})
	}
}
