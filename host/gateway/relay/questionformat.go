package relay

import (
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
)

// withoutHopFields removes the fields of a question's params that belong to one
// connection only: metadata and tasks. Messages and tools keep the metadata that is their own. It also removes the context of servers, see
// link.Capabilities.
func withoutHopFields(params any) any {
	switch p := params.(type) {
	case *mcp.ElicitParams:
		p.Task, p.Meta = nil, nil
	case *mcp.CreateMessageParams:
		p.Task, p.Meta, p.IncludeContext = nil, nil, ""
		cleanSampling(p)
	case *mcp.EmptyParams:
		p.Meta = nil
	}
	return params
}

// inputRequest encodes a question for an input_required result, where URL elicitations
// have no id.
func inputRequest(method string, params any) (mcp.InputRequest, error) {
	if p, ok := params.(*mcp.ElicitParams); ok {
		without := *p
		without.ElicitationID = ""
		params = &without
	}
	raw, err := json.Marshal(params)
	return mcp.InputRequest{Method: method, Params: raw}, err
}

// isAnswerTo reports whether a client's answer has the form that the method requires. The
// server that asked checks the content of a form.
func isAnswerTo(method string, answer jsontext.Value) bool {
	switch method {
	case mcp.MethodElicit:
		var a mcp.ElicitResult
		return json.Unmarshal(answer, &a) == nil &&
			(a.Action == mcp.ElicitAccept || a.Action == mcp.ElicitDecline || a.Action == mcp.ElicitCancel)
	case mcp.MethodCreateMessage:
		var a mcp.CreateMessageResult
		return json.Unmarshal(answer, &a) == nil && a.Role != "" && len(a.Content) > 0
	}
	var a mcp.ListRootsResult
	return json.Unmarshal(answer, &a) == nil
}
