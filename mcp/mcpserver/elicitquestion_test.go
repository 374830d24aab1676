package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

const nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

// elicitServer has a tool that asks with the given params and returns the answer.
func elicitServer(p *mcp.ElicitParams) *mcpserver.Server {
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		var answer mcp.ElicitResult
		if err := mcpserver.AskAll(ctx, mcpserver.ElicitQuestion("name", p, &answer)); err != nil {
			return "", err
		}
		return fmt.Sprint(answer.Action, " ", string(answer.Content)), nil
	})
	return srv
}

func answering(answers ...*mcp.ElicitResult) func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		next := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return next, nil
	}
}

func TestElicitQuestionReturnsWhatTheUserChose(t *testing.T) {
	for want, answer := range map[string]*mcp.ElicitResult{
		`accept {"name":"Ada"}`: {Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)},
		"decline ":              {Action: mcp.ElicitDecline},
		"cancel ":               {Action: mcp.ElicitCancel},
	} {
		for _, v := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
			c := mcptest.Connect(t, elicitServer(&mcp.ElicitParams{Message: "Your name?", RequestedSchema: jsontext.Value(nameForm)}),
				&mcpclient.Options{Revisions: []mcp.Revision{v}, ElicitForm: answering(answer)})
			if got, err := c.Call[string](t.Context(), "ask", nil); err != nil || got != want {
				t.Errorf("%v: got %q, %v, want %q", v, got, err, want)
			}
		}
	}
}

// TestElicitQuestionAsksAgainForAnInvalidAnswer answers in raw JSON: a client of this library
// checks the answer itself.
func TestElicitQuestionAsksAgainForAnInvalidAnswer(t *testing.T) {
	srv := elicitServer(&mcp.ElicitParams{Message: "Your name?", RequestedSchema: jsontext.Value(nameForm)})
	first := askRaw(t, srv, `{"name":"ask"}`)
	second := askRaw(t, srv, fmt.Sprintf(`{"name":"ask","requestState":%s,"inputResponses":{"name":{"action":"accept","content":{"name":7}}}}`, first))
	done := dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call",
		fmt.Sprintf(`{"name":"ask","requestState":%s,"inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}}}}`, second))
	if got := string(done); !strings.Contains(got, `accept {\"name\":\"Ada\"}`) {
		t.Errorf("got %s, want the second answer", got)
	}
}

// askRaw calls a tool whose question is open, and returns the requestState.
func askRaw(t *testing.T, srv *mcpserver.Server, params string) jsontext.Value {
	t.Helper()
	var result struct {
		ResultType   string         `json:"resultType"`
		RequestState jsontext.Value `json:"requestState"`
	}
	raw := dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call", params)
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	if result.ResultType != "input_required" {
		t.Fatalf("got result type %q, want input_required", result.ResultType)
	}
	return result.RequestState
}

func TestElicitQuestionSaysWhatIsWrongWithItsParams(t *testing.T) {
	for want, p := range map[string]*mcp.ElicitParams{
		"the params are nil": nil,
		"requested schema":   {Message: "Name?", RequestedSchema: jsontext.Value(`{"type":7}`)},
		"absolute":           {Message: "Sign in", Mode: mcp.ElicitURL, URL: "no URL"},
	} {
		c := mcptest.Connect(t, elicitServer(p), &mcpclient.Options{
			ElicitForm: answering(&mcp.ElicitResult{Action: mcp.ElicitCancel}), ElicitURL: answering(&mcp.ElicitResult{Action: mcp.ElicitCancel}),
		})
		if _, err := c.Call[string](t.Context(), "ask", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}

func ExampleElicitQuestion() {
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Tool("book", "Book a seat", func(ctx context.Context, _ struct{}) (string, error) {
		var answer mcp.ElicitResult
		question := &mcp.ElicitParams{
			Message:         "Which row?",
			RequestedSchema: jsontext.Value(`{"type":"object","properties":{"row":{"type":"integer"}},"required":["row"]}`),
		}
		if err := mcpserver.AskAll(ctx, mcpserver.ElicitQuestion("row", question, &answer)); err != nil {
			return "", err
		}
		return fmt.Sprint(answer.Action, " ", string(answer.Content)), nil
	})
	c := answerAll(srv, `{"row":4}`)
	defer c.Close()
	booked, err := c.Call[string](context.Background(), "book", nil)
	fmt.Println(booked, err)
	// Output: accept {"row":4} <nil>
}
