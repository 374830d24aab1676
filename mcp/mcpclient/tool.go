package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Tools iterates over the tools of the server and requests each page when the loop
// reaches it. There are none if a server of the stateless era does not declare the
// capability. Other servers are requested nevertheless, because some have tools that they do
// not declare, and an error of such a server means that there are none. Any other error is
// yielded once, as the last value.
//
// A list that does not end, because a cursor comes again or pages have no new tool, ends with what
// was read. A tool without a name is left out, and so is a member of another type, alone. Both are logged. It is the
// same with the other lists.
//
// Over HTTP in the stateless era, tools with an invalid x-mcp-header annotation are left
// out and logged.
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Tool, error] {
	offers := func(s mcp.ServerCapabilities) bool { return s.Tools != nil }
	return list(ctx, c, mcp.MethodToolsList, offers, opts, func(page *mcp.ListToolsResult, receivedAt time.Time) ([]mcp.Tool, *string) {
		return c.rememberTools(page.Tools, receivedAt), page.NextCursor
	}, func(t mcp.Tool) string { return t.Name })
}

// CallTool calls a tool. Args have to encode as a JSON object; nil means no arguments.
// If the tool fails, the result has IsError set and the error is nil.
//
// A result that is off its format is read part by part: a text that stands for a list of blocks is a block, and what
// cannot be read is left out alone and logged. It is the same with reads, prompts and completions.
//
// The structured content of the result is checked against the output schema of the tool,
// see Options.NoOutputCheck. A violation is a *ProtocolError.
//
// If the definition of the tool is pinned and has changed, the error is a *PinError, and
// nothing is sent, see Options.Pins.
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
	if err := c.checkOutput(ctx, name, result); err != nil {
		return nil, err
	}
	return result, nil
}

// Call calls a tool, as CallTool does, and returns its result as an Out:
//
//   - a string is the text of the content,
//   - mcp.Contents is the content,
//   - *mcp.CallToolResult is the whole result,
//   - a jsontext.Value is the raw structured content,
//   - any other type is decoded from the structured content.
//
// If a result has no structured content, the text of its content is decoded instead,
// which then has to be JSON; the error for another text quotes it. If the tool fails, the error is a *ToolError.
//
// Names of JSON members are matched case-sensitively: the fields of args and of Out need
// json tags with the names in the tool's schemas.
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

// decodeResult converts a result to an Out.
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
		decoded := new(Out) // json lets it escape; out stays on the stack
		if err := json.Unmarshal(raw, decoded); err != nil {
			return contentError(result, reflect.TypeFor[Out](), err)
		}
		*out = *decoded
	}
	return nil
}

// contentError returns the error of a result that cannot be decoded into a wanted type. It
// says what the result has.
func contentError(result *mcp.CallToolResult, wanted reflect.Type, err error) error {
	text := result.Content.Text()
	switch {
	case result.StructuredContent != nil:
		return fmt.Errorf("result: found structured content %s, want the JSON of %v: %w", excerpt(string(result.StructuredContent)), wanted, err)
	case text != "":
		return fmt.Errorf("result: found the text %s and no structured content, want the JSON of %v: %w", excerpt(text), wanted, err)
	case len(result.Content) > 0:
		return fmt.Errorf("result: found %d content blocks without text and no structured content, want the JSON of %v", len(result.Content), wanted)
	}
	return fmt.Errorf("result: found no content, want the JSON of %v", wanted)
}

// excerpt quotes the begin of a text for an error.
func excerpt(text string) string {
	const maxExcerpt = 64
	if cut := fmt.Sprintf("%.*s", maxExcerpt, text); len(cut) < len(text) {
		return strconv.Quote(cut) + "…"
	}
	return strconv.Quote(text)
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
