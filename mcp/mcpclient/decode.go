package mcpclient

import (
	"encoding/json/jsontext"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// decode decodes what the server has sent into a pointer to its type. What is off the format is read as
// dialect.DecodeLenient says: a part that cannot be read is left out alone, with a line in the log, at most one
// a second for each method.
func (c *Client) decode(method string, raw jsontext.Value, out any) error {
	err := dialect.Decode(raw, out)
	if err == nil {
		return nil
	}
	left, unreadable := dialect.DecodeLenient(raw, out)
	switch {
	case unreadable != nil:
		return err
	case left.Count > 0:
		c.warnOfServer(method, "left out what cannot be read", "method", method, "count", left.Count, "names", left.Names, "error", err)
	}
	return nil
}
