package dialect

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Reply encodes the client's response to a request of the server: the result in
// the form of the revision, or the error with its number. If the error is not
// an *mcp.Error, the server gets an internal error without its text.
func (c *Client) Reply(id jsonrpc.ID, result any, err error) []byte {
	if err == nil {
		var raw jsontext.Value
		if raw, err = c.InputResponse(result); err == nil {
			return jsonrpc.AppendResult(nil, id, raw)
		}
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		e = mcp.Errorf(mcp.CodeInternal, "internal error")
	}
	return jsonrpc.AppendError(nil, id, c.Facts.wireError(e))
}

// InputResponse encodes the answer to one question of the server as the bare
// result of its method.
//
// Spec: 2026-07-28 basic/patterns/mrtr
func (c *Client) InputResponse(result any) (jsontext.Value, error) {
	return c.appendInputResponse(nil, result)
}

// appendInputResponse is InputResponse, which appends the answer to dst.
func (c *Client) appendInputResponse(dst []byte, result any) ([]byte, error) {
	var raw []byte
	var err error
	switch r := result.(type) {
	case nil:
		return append(dst, "{}"...), nil
	case *mcp.ElicitResult:
		dst, err = appendElicitResult(dst, r)
	default:
		raw, err = c.Facts.marshal(result)
	}
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return append(dst, raw...), nil
}
