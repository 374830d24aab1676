package relay

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
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

// answerFault says what is wrong with the form of a client's answer, or returns nil. The server that asked
// checks the content of a form.
func answerFault(method string, answer jsontext.Value) error {
	switch method {
	case mcp.MethodElicit:
		var a mcp.ElicitResult
		if err := json.Unmarshal(answer, &a); err != nil {
			return err
		}
		if a.Action != mcp.ElicitAccept && a.Action != mcp.ElicitDecline && a.Action != mcp.ElicitCancel {
			return fmt.Errorf("action: found %q, want %q, %q or %q", a.Action, mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel)
		}
		return nil
	case mcp.MethodCreateMessage:
		var a mcp.CreateMessageResult
		err := json.Unmarshal(answer, &a)
		if err == nil && (a.Role == "" || len(a.Content) == 0) {
			err = errors.New("found no role, or no content")
		}
		return err
	}
	var a mcp.ListRootsResult
	return json.Unmarshal(answer, &a)
}

// maxFault limits the reason in a question that is asked again, in bytes.
const maxFault = 512

// askedAgain returns a question that is asked again because of the fault of an answer. The message of an elicitation
// says why; other questions have no text for it.
func askedAgain(in mcp.InputRequest, fault error) mcp.InputRequest {
	params, err := in.DecodeParams()
	p, ok := params.(*mcp.ElicitParams)
	if err != nil || !ok {
		return in
	}
	p.Message += "\n\nThe last answer does not fit: " + shownText(host.CutText(fault.Error(), maxFault))
	again, err := inputRequest(in.Method, p)
	if err != nil {
		return in
	}
	return again
}
