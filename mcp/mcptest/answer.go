package mcptest

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Answer sets the answer of a client to the question that a handler asks under the key.
// The client must be one that Connect, EachRevision or CheckReplay has made, without
// handlers for questions; Answer panics for another one. The value is a struct, which
// submits a form; an mcp.ElicitAction, which declines or cancels a form and accepts,
// declines or cancels a URL elicitation; an *mcp.CreateMessageResult; or an []mcp.Root.
//
// Each answer is used once. In the session era questions have no key: the first unused
// answer that is valid for the question is used. A question without an answer fails the
// call with an error that explains for each unused answer why it is not valid.
func Answer(c *mcpclient.Client, key string, value any) {
	b, ok := answerTables.Load(c)
	if !ok {
		panic("mcptest.Answer: want a client that this package has connected, without handlers for questions")
	}
	b.(*answerTable).add(prepared{key: key, value: value})
}

// answerTables holds the table of each client.
var answerTables sync.Map // of *mcpclient.Client to *answerTable

// answerTable holds the prepared answers of one client, and the questions that it was asked.
type answerTable struct {
	mu      sync.Mutex
	answers []prepared
	asked   []question
}

// prepared is one answer.
type prepared struct {
	key   string
	value any
}

// question is one question as it was asked.
type question struct {
	Method string `json:"method"`
	Params any    `json:"params"`

	key  string // its key in inputRequests, or empty in the session era
	call any    // identifies the call that it belongs to, see markCalls
}

func (t *answerTable) add(p prepared) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers = append(t.answers, p)
}

// handlers makes the client answer from the table, unless it has handlers for
// questions.
func (t *answerTable) handlers(o *mcpclient.Options) bool {
	if o.ElicitForm != nil || o.ElicitURL != nil || o.Sample != nil || o.Roots != nil {
		return false
	}
	o.ElicitForm, o.ElicitURL = t.elicit, t.elicit
	o.Sample = func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return take[*mcp.CreateMessageResult](ctx, t, p)
	}
	o.Roots = func(ctx context.Context) ([]mcp.Root, error) { return take[[]mcp.Root](ctx, t, nil) }
	return true
}

func take[T any](ctx context.Context, t *answerTable, params any) (T, error) {
	v, err := t.take(ctx, params, func(v any) error {
		if want, ok := v.(T); !ok {
			return fmt.Errorf("its type is %T, want %T", v, want)
		}
		return nil
	})
	if err != nil {
		var none T
		return none, err
	}
	return v.(T), nil
}

func (t *answerTable) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	v, err := t.take(ctx, p, func(v any) error { return checkForm(v, p) })
	if err != nil {
		return nil, err
	}
	if action, ok := v.(mcp.ElicitAction); ok {
		return &mcp.ElicitResult{Action: action}, nil
	}
	content, err := json.Marshal(v)
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, err
}

// checkForm returns why a value does not answer a form or a URL elicitation.
func checkForm(v any, p *mcp.ElicitParams) error {
	action, isAction := v.(mcp.ElicitAction)
	switch {
	case isAction && action == mcp.ElicitAccept && p.Mode != mcp.ElicitURL:
		return errors.New("it accepts a form without values, want a struct")
	case isAction:
		return nil
	case p.Mode == mcp.ElicitURL:
		return fmt.Errorf("its type is %T, want an mcp.ElicitAction for a URL", v)
	}
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if jsontext.Value(content).Kind() != '{' {
		return fmt.Errorf("its type is %T, want a struct or an mcp.ElicitAction for a form", v)
	}
	return mcpclient.CheckForm(p.RequestedSchema, content)
}

// take records the question of ctx and returns the first unused answer that is valid for it.
func (t *answerTable) take(ctx context.Context, params any, check func(any) error) (any, error) {
	q, _ := mcpclient.QuestionFrom(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = append(t.asked, question{Method: q.Method, Params: params, key: q.Key, call: ctx.Value(callKey{})})
	var left strings.Builder // the answers that do not fit, and why
	for i, p := range t.answers {
		err := check(p.value)
		if q.Key != "" && q.Key != p.key {
			err = errors.New("it has another key")
		}
		if err == nil {
			t.answers = slices.Delete(t.answers, i, i+1)
			return p.value, nil
		}
		fmt.Fprintf(&left, "; answer %q does not fit: %v", p.key, err)
	}
	return nil, fmt.Errorf("mcptest: %s, key %q: no answer that fits; want one by Answer%s", q.Method, q.Key, &left)
}
