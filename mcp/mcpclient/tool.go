package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"iter"

	"github.com/fondaco/fondaco/mcp"
)

// Tools returns the tools of the server, page by page as they are taken. It is
// empty for a server that offers no tools. An error ends it.
//
// Over HTTP in the stateless era, tools whose x-mcp-header marks make no sense
// are left out, and logged.
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Tool, error] {
	offers := func(s mcp.ServerCapabilities) bool { return s.Tools != nil }
	return list(ctx, c, mcp.MethodToolsList, offers, opts, func(page *mcp.ListToolsResult) ([]mcp.Tool, *string) {
		return c.rememberTools(page.Tools), page.NextCursor
	}, func(t mcp.Tool) string { return t.Name })
}

// CallTool calls a tool. Args encode as a JSON object, or are nil for none. A
// tool that failed is a result with IsError set, and no error.
//
// The structured content of a result has to satisfy the output schema of the
// tool, if the tool was listed before, see Options.NoOutputCheck.
func (c *Client) CallTool(ctx context.Context, name string, args any, opts ...CallOption) (*mcp.CallToolResult, error) {
	result, err := c.callTool(ctx, name, args, opts)
	if err != nil {
		return nil, fmt.Errorf("call %q: %w", name, err)
	}
	return result, nil
}

func (c *Client) callTool(ctx context.Context, name string, args any, opts []CallOption) (*mcp.CallToolResult, error) {
	arguments, err := encodeArguments(args)
	if err != nil {
		return nil, err
	}
	result, err := request[mcp.CallToolResult](ctx, c, mcp.MethodToolsCall, &mcp.CallToolParams{Name: name, Arguments: arguments}, opts)
	if err != nil {
		return nil, err
	}
	if !c.opts.NoOutputCheck {
		if err := c.tools.checkOutput(name, result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// Call calls a tool and decodes its result into Out. A struct, or any other
// type, is decoded from the structured content or, where the server's revision
// has none, from a text that is JSON. A string is the text, mcp.Contents all
// content, a jsontext.Value the structured content as it came, and
// *mcp.CallToolResult the whole result. A tool that failed is a *ToolError.
//
// The members of JSON objects are matched case-sensitively: the fields of args and of
// Out need json tags with the names that the tool's schemas have.
func (c *Client) Call[Out any](ctx context.Context, name string, args any, opts ...CallOption) (Out, error) {
	var out Out
	result, err := c.callTool(ctx, name, args, opts)
	if err == nil {
		err = decodeResult(result, &out)
	}
	if err != nil {
		return out, fmt.Errorf("call %q: %w", name, err)
	}
	return out, nil
}

// decodeResult reads a result into what is wanted of it.
func decodeResult[Out any](result *mcp.CallToolResult, out *Out) error {
	if result.IsError {
		return &ToolError{result}
	}
	switch wanted := any(out).(type) {
	case **mcp.CallToolResult:
		*wanted = result
	case *mcp.CallToolResult:
		*wanted = *result
	case *string:
		*wanted = result.Content.Text()
	case *mcp.Contents:
		*wanted = result.Content
	default:
		raw := result.StructuredContent
		if raw == nil {
			raw = jsontext.Value(result.Content.Text())
		}
		return decodeContent(raw, out)
	}
	return nil
}

func decodeContent[Out any](raw jsontext.Value, out *Out) error {
	decoded := new(Out) // what json may keep; out stays on the stack
	if err := json.Unmarshal(raw, decoded); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	*out = *decoded
	return nil
}

// encodeArguments returns args as a JSON object, or nil for none.
func encodeArguments(args any) (jsontext.Value, error) {
	var raw jsontext.Value
	switch args := args.(type) {
	case nil:
		return nil, nil
	case jsontext.Value:
		raw = args
	default:
		var err error
		if raw, err = json.Marshal(args, json.Deterministic(true)); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
	}
	if len(raw) > 0 && raw.Kind() != '{' {
		return nil, fmt.Errorf("arguments: found %s, want a JSON object", raw.Kind())
	}
	return raw, nil
}
