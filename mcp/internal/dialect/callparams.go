package dialect

import (
	"encoding/json/jsontext"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// CallParams are members of the params of a request that may be answered with
// input_required, found in one scan. They share memory with the params, and are nil where
// the params have no such member.
type CallParams struct {
	Name, URI, Arguments         jsontext.Value
	InputResponses, RequestState jsontext.Value
}

// CallParams returns members of the params, which are not checked.
func (c *Call) CallParams() (p CallParams) {
	for name, value := range rawjson.Members(c.Params) {
		switch string(name) {
		case "name":
			p.Name = value
		case "uri":
			p.URI = value
		case "arguments":
			p.Arguments = value
		case "inputResponses":
			p.InputResponses = value
		case "requestState":
			p.RequestState = value
		}
	}
	return p
}

// RequestState returns the server's state that a request brings from an earlier round, or
// nil if it brings none. It fails if the state or the answers are not of the type that the
// protocol gives them; then ToolCall fails, too.
func (c *Call) RequestState(p CallParams) ([]byte, error) {
	if p.RequestState.Kind() == '"' && (p.InputResponses == nil || p.InputResponses.Kind() == '{') {
		c.roundChecked = true
		return rawjson.Unquote(p.RequestState), nil
	}
	if p.RequestState == nil {
		return nil, nil
	}
	var in mcp.InputResponseParams
	if err := c.Decode(&in); err != nil || in.RequestState == nil {
		return nil, err
	}
	return []byte(*in.RequestState), nil
}

// InputResponses returns what a request brings from an earlier round, after RequestState has
// returned a state. The answers share memory with the params.
func (c *Call) InputResponses() (in mcp.InputResponseParams) {
	p := c.CallParams()
	in.RequestState = new(string(rawjson.Unquote(p.RequestState)))
	for key, answer := range rawjson.Members(p.InputResponses) {
		if in.InputResponses == nil {
			in.InputResponses = make(map[string]jsontext.Value)
		}
		in.InputResponses[string(key)] = answer
	}
	return in
}
