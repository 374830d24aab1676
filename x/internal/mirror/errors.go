package mirror

import (
	"encoding/json/jsontext"

	"github.com/fondaco/fondaco/mcp"
)

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
