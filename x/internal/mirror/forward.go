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

func (f *features) callTool(ctx context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
	raw, err := f.forward(ctx, mcp.MethodToolsCall, p.Meta, func(meta mcp.Meta) any {
		return &mcp.CallToolParams{Name: p.Name, Arguments: p.Arguments, InputResponseParams: f.answers(ctx, &p.InputResponseParams), Meta: meta}
	})
	return result(raw, new(mcp.CallToolResult), err)
}

func (f *features) getPrompt(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
	raw, err := f.forward(ctx, mcp.MethodPromptsGet, p.Meta, func(meta mcp.Meta) any {
		return &mcp.GetPromptParams{Name: p.Name, Arguments: p.Arguments, InputResponseParams: f.answers(ctx, &p.InputResponseParams), Meta: meta}
	})
	return result(raw, new(mcp.GetPromptResult), err)
}

func (f *features) readResource(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
	raw, err := f.forward(ctx, mcp.MethodResourcesRead, p.Meta, func(meta mcp.Meta) any {
		return &mcp.ReadResourceParams{URI: p.URI, InputResponseParams: f.answers(ctx, &p.InputResponseParams), Meta: meta}
	})
	return result(raw, new(mcp.ReadResourceResult), err)
}

func (f *features) complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error) {
	raw, err := f.forward(ctx, mcp.MethodComplete, p.Meta, func(meta mcp.Meta) any {
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
func (f *features) answers(ctx context.Context, p *mcp.InputResponseParams) (none mcp.InputResponseParams) {
	if !f.bridge.options.InputRequired || mcpserver.From(ctx).Round() == 0 {
		return none
	}
	return *p
}

// whileSubscribed is subscribed at the foreign server while clients are subscribed here. A
// server that refuses the subscription sends no updates.
func (f *features) whileSubscribed(ctx context.Context, uri string) {
	if _, err := f.bridge.do(ctx, mcp.MethodResourcesSubscribe, &mcp.SubscribeParams{URI: uri}); err != nil {
		return
	}
	<-ctx.Done()
	_, _ = f.bridge.do(context.WithoutCancel(ctx), mcp.MethodResourcesUnsubscribe, &mcp.SubscribeParams{URI: uri})
}

// forward sends the request of a call to the foreign server and returns its result.
func (f *features) forward(ctx context.Context, method string, meta mcp.Meta, params func(mcp.Meta) any) (jsontext.Value, error) {
	c := newCall(ctx)
	meta, err := c.meta(meta)
	if err != nil {
		return nil, err
	}
	return f.bridge.do(context.WithValue(ctx, callKey{}, c), method, params(meta))
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

var _ mcpserver.RawCompleter = (*features)(nil).complete
