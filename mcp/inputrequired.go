package mcp

import "encoding/json/jsontext"

// InputRequiredResult ends a request that needs something from the client
// first. The client answers by sending the same request again, with
// InputResponseParams. At least one of InputRequests and RequestState is set.
//
// Spec: 2026-07-28 basic/patterns/mrtr#core-types
type InputRequiredResult struct {
	ResultBase
	// InputRequests are the questions, each under a key of the server's choice.
	InputRequests map[string]InputRequest `json:"inputRequests,omitzero"`
	// RequestState is sent back as it is. Nil is none; an empty state is a state.
	RequestState *string `json:"requestState,omitzero"`
}

// InputRequest is one question to a client: elicitation/create,
// sampling/createMessage or roots/list.
type InputRequest struct {
	Method string `json:"method"`
	// Params are those of the method, or nil.
	Params jsontext.Value `json:"params,omitzero"`
}

// InputResponseParams are the members by which a request that was answered with
// an InputRequiredResult is sent again.
type InputResponseParams struct {
	// InputResponses are the answers, under the keys of their questions: results
	// of the methods that were asked for.
	InputResponses map[string]jsontext.Value `json:"inputResponses,omitzero"`
	// RequestState is the state of the InputRequiredResult, or nil if it had none.
	RequestState *string `json:"requestState,omitzero"`
}
