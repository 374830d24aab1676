package mcpmodel

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// Turn is the answer of a model.
type Turn struct {
	// Text is the text for the user: the answer, what the model says before it calls tools,
	// or its refusal. The model's thoughts are not part of it.
	Text string
	// Calls are the tools that the model wants to be called. If there are none, the model has
	// answered. All of them need a Result.
	Calls []Call
	// Messages are to be appended to the messages of the conversation. They are unchanged, so
	// they keep what is not described here, such as signatures of thoughts.
	Messages []jsontext.Value
	// StopReason is the reason why the model stopped, in the words of the API, such as
	// "max_tokens".
	StopReason string
}

// Call is a model's request to call a tool.
type Call struct {
	// ID identifies the call in the API. It may be empty with Gemini.
	ID   string
	Name string
	// Arguments is for Client.CallTool: a JSON object. A model may write something else, for
	// which CallTool returns an error that Result passes to the model.
	Arguments jsontext.Value
}

// answer is a Turn with its parts in order.
type answer struct {
	parts    []answerPart
	messages []jsontext.Value
	stop     string
	model    string
}

// answerPart is a text, a call or media.
type answerPart struct {
	text      string
	call      *Call
	signature string // of the thought that led to the call
	media     part
}

// Turn reads a response of the API, the whole JSON body. The error quotes an error of the API,
// or says what was found instead of a response.
func (t *ToolSet) Turn(response jsontext.Value) (*Turn, error) {
	a, err := t.api.read(response)
	if err != nil {
		return nil, err
	}
	turn := &Turn{Messages: a.messages, StopReason: a.stop}
	var texts []string
	for _, p := range a.parts {
		if p.text != "" {
			texts = append(texts, p.text)
		}
		if p.call != nil {
			call := *p.call
			if loose := t.loose[call.Name]; loose != nil {
				call.Arguments = dropNulls(call.Arguments, loose)
			}
			turn.Calls = append(turn.Calls, call)
		}
	}
	turn.Text = strings.Join(texts, "\n")
	return turn, nil
}

// read decodes a response.
func (a *API) read(response jsontext.Value) (*answer, error) {
	response = bytes.TrimSpace(response)
	if response.Kind() != '{' {
		return nil, fmt.Errorf("%s: found %s, want the JSON body of a response", a, excerpt(response))
	}
	var failure struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(response, &failure, lenient) == nil && failure.Error.Message != "" {
		return nil, fmt.Errorf("%s: the API answered with an error: %s", a, failure.Error.Message)
	}
	ans, err := a.wire.read(response)
	if err != nil {
		return nil, fmt.Errorf("%s: read response: %w", a, err)
	}
	return ans, nil
}

var errNoAnswer = errors.New("it has no answer of a model")

// arguments returns the arguments of a call that an API gives as a string.
func arguments(text string) jsontext.Value {
	if strings.TrimSpace(text) == "" {
		return jsontext.Value("{}")
	}
	return jsontext.Value(text)
}

// excerpt returns the start of a JSON text for an error.
func excerpt(v jsontext.Value) string {
	const maxExcerpt = 64
	if len(v) == 0 {
		return "nothing"
	}
	if len(v) > maxExcerpt {
		return fmt.Sprintf("%.*q…", maxExcerpt, v)
	}
	return fmt.Sprintf("%q", v)
}

// lenient reads what providers send: they are not peers of MCP.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Result is the result of a Call.
type Result struct {
	call   Call
	result *mcp.CallToolResult
	err    error
}

// Result returns the result of the call, from what Client.CallTool has returned. An error
// becomes a failed result, with its text for the model to read.
func (c Call) Result(result *mcp.CallToolResult, err error) Result {
	return Result{c, result, err}
}

// encode returns v as JSON. Text that is not UTF-8 gets replacement characters.
func encode(v any) jsontext.Value {
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("mcpmodel: encode a value of this package: %v", err))
	}
	return text
}
