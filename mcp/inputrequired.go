package mcp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
)

// InputRequiredResult ends a request that needs input from the client first.
// The client answers by sending the same request again, with
// InputResponseParams. At least one of InputRequests and RequestState is set.
//
// Spec: 2026-07-28 basic/patterns/mrtr#core-types
type InputRequiredResult struct {
	ResultBase
	// InputRequests are the requests to the client, by keys that the server
	// chooses.
	InputRequests map[string]InputRequest `json:"inputRequests,omitzero"`
	// RequestState is opaque to the client, which sends it back unchanged. Nil
	// means absent; an empty string is a state.
	RequestState *string `json:"requestState,omitzero"`
}

// InputRequest is one request to a client: elicitation/create,
// sampling/createMessage or roots/list.
type InputRequest struct {
	Method string `json:"method"`
	// Params are those of the method, or nil.
	Params jsontext.Value `json:"params,omitzero"`
}

// DecodeParams returns the params of the question: an *ElicitParams for
// MethodElicit, a *CreateMessageParams for MethodCreateMessage or an *EmptyParams
// for MethodRootsList. Params that are nil or null are read as an empty object.
// The error names the method; any other method is an error.
func (q InputRequest) DecodeParams() (any, error) {
	var params any
	switch q.Method {
	case MethodElicit:
		params = new(ElicitParams)
	case MethodCreateMessage:
		params = new(CreateMessageParams)
	case MethodRootsList:
		params = new(EmptyParams)
	default:
		return nil, fmt.Errorf("method %.64q: want %s, %s or %s", q.Method, MethodElicit, MethodCreateMessage, MethodRootsList)
	}
	if len(q.Params) == 0 || q.Params.Kind() == 'n' {
		return params, nil
	}
	if err := json.Unmarshal(q.Params, params); err != nil {
		return nil, fmt.Errorf("%s: params: %w", q.Method, err)
	}
	return params, nil
}

// InputResponseParams are the additional members of a request that is sent
// again after an InputRequiredResult.
type InputResponseParams struct {
	// InputResponses are the answers, by the keys of InputRequests: results of
	// the requested methods. They are not validated against the requests.
	//
	// For a handler of package mcpserver they are answers to questions of the last
	// round if the request has a requestState; the server drops all others. A
	// request without requestState passes all its answers, and a client can send
	// answers to questions that nobody asked. The handler must therefore use answers
	// only if Request.Round is not 0, or use mcpserver.Ask in place of
	// InputRequiredResult.
	InputResponses map[string]jsontext.Value `json:"inputResponses,omitzero"`
	// RequestState is the state of the InputRequiredResult, or nil if it had none.
	RequestState *string `json:"requestState,omitzero"`
}
