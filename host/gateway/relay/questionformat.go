package relay

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
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

// answerFault says what is wrong with a client's answer to a question, or returns nil.
func answerFault(in mcp.InputRequest, answer jsontext.Value) error {
	switch in.Method {
	case mcp.MethodElicit:
		var a mcp.ElicitResult
		if err := json.Unmarshal(answer, &a); err != nil {
			return err
		}
		if a.Action != mcp.ElicitAccept && a.Action != mcp.ElicitDecline && a.Action != mcp.ElicitCancel {
			return fmt.Errorf("action: found %q, want %q, %q or %q", a.Action, mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel)
		}
		params, err := in.DecodeParams()
		if p, ok := params.(*mcp.ElicitParams); ok && err == nil && p.Mode != mcp.ElicitURL && a.Action == mcp.ElicitAccept {
			return contentFault(p.RequestedSchema, a.Content)
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

// contentFault says why a client's answer does not fit a form, or returns nil, also if the form is invalid.
func contentFault(schema, content jsontext.Value) error {
	if unfit, ok := errors.AsType[*mcpclient.ValidationError](mcpclient.CheckForm(schema, content)); ok {
		return fmt.Errorf("content%s: %s", unfit.Violations[0].Pointer, unfit.Violations[0].Message)
	}
	return nil
}

// checkForm returns an error if the schema of a form is none with which an answer can be checked.
func checkForm(schema jsontext.Value) error {
	err := mcpclient.CheckForm(schema, nil)
	if _, unfit := errors.AsType[*mcpclient.ValidationError](err); unfit {
		return nil
	}
	return err
}

// maxFault limits the reason in a question that is asked again, in bytes.
const maxFault = 512

func shownFault(fault error) string { return shownText(host.CutText(fault.Error(), maxFault)) }

// askedAgain returns a question that is asked again because of the fault of an answer. The message of an elicitation
// says why; other questions have no text for it.
func askedAgain(in mcp.InputRequest, fault error) mcp.InputRequest {
	params, err := in.DecodeParams()
	p, ok := params.(*mcp.ElicitParams)
	if err != nil || !ok {
		return in
	}
	p.Message += "\n\nThe last answer does not fit: " + shownFault(fault)
	again, err := inputRequest(in.Method, p)
	if err != nil {
		return in
	}
	return again
}
