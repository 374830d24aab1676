package mirror

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func (m *Mirror) callTool(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
	raw, err := m.forward(ctx, mcp.MethodToolsCall, p.Meta, func(meta mcp.Meta) any {
		return &mcp.CallToolParams{Name: p.Name, Arguments: p.Arguments, InputResponseParams: m.answers(ctx, &p.InputResponseParams), Meta: meta}
	})
	return result(raw, new(mcp.CallToolResult), err)
}

func (m *Mirror) getPrompt(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
	raw, err := m.forward(ctx, mcp.MethodPromptsGet, p.Meta, func(meta mcp.Meta) any {
		return &mcp.GetPromptParams{Name: p.Name, Arguments: p.Arguments, InputResponseParams: m.answers(ctx, &p.InputResponseParams), Meta: meta}
	})
	return result(raw, new(mcp.GetPromptResult), err)
}

func (m *Mirror) readResource(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	raw, err := m.forward(ctx, mcp.MethodResourcesRead, p.Meta, func(meta mcp.Meta) any {
		return &mcp.ReadResourceParams{URI: p.URI, InputResponseParams: m.answers(ctx, &p.InputResponseParams), Meta: meta}
	})
	return result(raw, new(mcp.ReadResourceResult), err)
}

func (m *Mirror) complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error) {
	raw, err := m.forward(ctx, mcp.MethodComplete, p.Meta, func(meta mcp.Meta) any {
		return &mcp.CompleteParams{Ref: p.Ref, Argument: p.Argument, Context: p.Context, Meta: meta}
	})
	completed := new(mcp.CompleteResult)
	if _, err := result(raw, completed, err); err != nil {
		return nil, err
	}
	return &completed.Completion, nil
}

// answers returns the answers of the client that a foreign handler gets: those to questions
// that it has returned itself in an earlier round.
func (m *Mirror) answers(ctx context.Context, p *mcp.InputResponseParams) (none mcp.InputResponseParams) {
	if !m.InputRequired || mcpserver.From(ctx).Round() == 0 {
		return none
	}
	return *p
}

// whileSubscribed is subscribed at the foreign server while clients are subscribed here. A
// server that refuses the subscription sends no updates.
func (m *Mirror) whileSubscribed(ctx context.Context, uri string) {
	if _, err := m.foreign.Do(ctx, mcp.MethodResourcesSubscribe, &mcp.SubscribeParams{URI: uri}); err != nil {
		return
	}
	<-ctx.Done()
	_, _ = m.foreign.Do(context.WithoutCancel(ctx), mcp.MethodResourcesUnsubscribe, &mcp.SubscribeParams{URI: uri})
}

// forward sends the request of a call to the foreign server and returns its result.
func (m *Mirror) forward(ctx context.Context, method string, meta mcp.Meta, params func(mcp.Meta) any) (jsontext.Value, error) {
	c := newCall(ctx)
	meta, err := c.meta(meta)
	if err != nil {
		return nil, err
	}
	return m.foreign.Do(context.WithValue(ctx, callKey{}, c), method, params(meta))
}

// result decodes the result of a foreign handler into to, unless it is a result with questions.
func result[R mcp.Result](raw jsontext.Value, to R, err error) (mcp.Result, error) {
	if err != nil {
		return nil, err
	}
	var kind mcp.ResultBase
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fmt.Errorf("result of the handler: %w", err)
	}
	if kind.ResultType == mcp.ResultInputRequired {
		questions := new(mcp.InputRequiredResult)
		if err := json.Unmarshal(raw, questions); err != nil {
			return nil, fmt.Errorf("questions of the handler: %w", err)
		}
		return questions, nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return nil, fmt.Errorf("result of the handler: %w", err)
	}
	return to, nil
}

// meta returns the metadata of a forwarded request: that of the caller without the members
// that belong to its connection, and the call's own progress token.
func (c *Call) meta(of mcp.Meta) (mcp.Meta, error) {
	meta := maps.Clone(of)
	if meta == nil {
		meta = make(mcp.Meta, 1)
	}
	maps.DeleteFunc(meta, func(key string, _ jsontext.Value) bool {
		return strings.HasPrefix(key, "io.modelcontextprotocol/")
	})
	return meta, meta.Set("progressToken", c.Token)
}

// Error returns the error of an error response, by its number on the wire.
func Error(number int64, message string, data jsontext.Value) *mcp.Error {
	e := &mcp.Error{Code: mcp.CodeInternal, Message: message, Data: data}
	if code, ok := codes[number]; ok {
		e.Code = code
	} else if number < -32768 || number > -32000 {
		e.Code, e.Number = mcp.CodeOther, number
	}
	if number == 0 { // what an SDK sends for an error without a number
		e.Code, e.Number = mcp.CodeInternal, 0
	}
	return e
}

var codes = map[int64]mcp.Code{
	-32700: mcp.CodeParse,
	-32600: mcp.CodeInvalidRequest,
	-32601: mcp.CodeMethodNotFound,
	-32602: mcp.CodeInvalidParams,
	-32002: mcp.CodeResourceNotFound,
	-32042: mcp.CodeURLElicitationRequired,
}

// Number returns the number on the wire and the text of an error, for a foreign handler that
// asked.
func Number(err error) (number int64, message string) {
	switch mcp.CodeOf(err) {
	case mcp.CodeMethodNotFound, mcp.CodeMissingCapability:
		return -32601, err.Error()
	case mcp.CodeInvalidParams:
		return -32602, err.Error()
	}
	return -32603, err.Error()
}

var _ mcpserver.RawCompleter = (*Mirror)(nil).complete
