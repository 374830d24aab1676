package frommcpgo

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
)

// client answers the requests that handlers of the other server send to their session: it
// asks the client of the call that the context belongs to.
type client struct{}

// CreateMessage implements the SamplingHandler of mcp-go.
func (client) CreateMessage(ctx context.Context, r mcpgotypes.CreateMessageRequest) (*mcpgotypes.CreateMessageResult, error) {
	raw, err := ask(ctx, mcp.MethodCreateMessage, r.CreateMessageParams)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Role       mcpgotypes.Role  `json:"role"`
		Content    []jsontext.Value `json:"content"`
		Model      string           `json:"model"`
		StopReason string           `json:"stopReason"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	result := &mcpgotypes.CreateMessageResult{Model: answer.Model, StopReason: answer.StopReason}
	result.Role = answer.Role
	blocks := make([]mcpgotypes.Content, len(answer.Content))
	for i, block := range answer.Content {
		if blocks[i], err = mcpgotypes.UnmarshalContent(block); err != nil {
			return nil, err
		}
	}
	result.Content = blocks
	if len(blocks) == 1 {
		result.Content = blocks[0]
	}
	return result, nil
}

// Elicit implements the ElicitationHandler of mcp-go.
func (client) Elicit(ctx context.Context, r mcpgotypes.ElicitationRequest) (*mcpgotypes.ElicitationResult, error) {
	raw, err := ask(ctx, mcp.MethodElicit, r.Params)
	if err != nil {
		return nil, err
	}
	result := new(mcpgotypes.ElicitationResult)
	return result, json.Unmarshal(raw, &result.ElicitationResponse)
}

// ListRoots implements the RootsHandler of mcp-go.
func (client) ListRoots(ctx context.Context, _ mcpgotypes.ListRootsRequest) (*mcpgotypes.ListRootsResult, error) {
	raw, err := ask(ctx, mcp.MethodRootsList, struct{}{})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Roots []mcpgotypes.Root `json:"roots"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	return &mcpgotypes.ListRootsResult{Roots: answer.Roots}, nil
}

func ask(ctx context.Context, method string, params any) (jsontext.Value, error) {
	c := mirror.CallFrom(ctx)
	if c == nil {
		return nil, mirror.ErrNoCall
	}
	raw, err := encode(params)
	if err != nil {
		return nil, err
	}
	return c.Ask(method, raw)
}
