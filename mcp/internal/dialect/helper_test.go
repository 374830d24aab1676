package dialect_test

import (
	"errors"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func numberID(n int64) jsonrpc.ID { return jsonrpc.NumberID(n) }

// jsonrpcDecode returns the result of a response.
func jsonrpcDecode(body []byte) ([]byte, error) {
	m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
	return m.Result, err
}

// jsonrpcError returns the number of the error in a response, also of one
// without an id.
func jsonrpcError(body []byte) (int64, error) {
	m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
	if err != nil {
		return 0, err
	}
	if m.Error == nil {
		return 0, errors.New("no error")
	}
	return m.Error.Code, nil
}
