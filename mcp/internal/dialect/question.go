package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// Question is a server's request to a client, encoded for the client's
// revision.
type Question struct {
	call   *Call
	method string
	params jsontext.Value
	form   jsontext.Value // the newest form of the params, if the client got an older one
	// ElicitationURL and ElicitationID are those of an elicitation in URL mode. The id is empty if
	// the revision has none.
	ElicitationURL, ElicitationID string
}

// Question converts a request to the caller into the form of its revision. It
// returns an error with CodeMissingCapability if the caller did not declare the
// capability for it.
func (c *Call) Question(method string, params any) (*Question, error) {
	q := &Question{call: c, method: method}
	if p, ok := params.(*mcp.ElicitParams); ok {
		p = c.Facts.identified(p)
		params = p
		q.ElicitationURL, q.ElicitationID = p.URL, p.ElicitationID
		if !c.Facts.RichForms {
			q.form = p.RequestedSchema
		}
	}
	var err error
	q.params, err = c.questionParams(method, params)
	return q, err
}

// AddTrace adds a trace context to what the metadata of the question has of one.
func (q *Question) AddTrace(t mcp.Trace) {
	if t == (mcp.Trace{}) {
		return
	}
	members, meta, err := splitMeta(q.params)
	if err != nil {
		return
	}
	t = besideTrace(t, func(name string) bool { return meta[name] != nil })
	if meta == nil {
		meta = make(mcp.Meta)
	}
	for _, m := range [...]struct{ name, value string }{
		{mcp.MetaTraceparent, t.Parent}, {mcp.MetaTracestate, t.State}, {mcp.MetaBaggage, t.Baggage},
	} {
		if m.value != "" {
			meta[m.name] = rawjson.AppendString(nil, m.value)
		}
	}
	raw, err := json.Marshal(meta, json.Deterministic(true))
	if err != nil {
		return
	}
	params := append([]byte(`{"_meta":`), raw...)
	if len(members) > 0 {
		params = append(append(params, ','), members...)
	}
	q.params = append(params, '}')
}

// Encode returns the message under the given id.
func (q *Question) Encode(id jsonrpc.ID) []byte {
	return jsonrpc.AppendRequest(nil, id, q.method, q.params)
}

// Answer reads the response into out, which may be nil.
func (q *Question) Answer(m jsonrpc.Message, out any) error {
	if m.Error != nil {
		return &mcp.Error{
			Code: q.call.Facts.CodeFor(m.Error.Code), Number: m.Error.Code,
			Message: m.Error.Message, Data: m.Error.Data, Remote: true,
		}
	}
	if out == nil {
		return nil
	}
	result := orEmpty(jsontext.Value(m.Result))
	if len(q.form) > 0 {
		result = foldAnswer(result, q.form)
	}
	if err := json.Unmarshal(result, out); err != nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: the client's answer: %s", q.method, reason(err))
	}
	return nil
}

// InputRequest encodes a question that ends the call in the stateless era. It
// returns the errors of Question.
//
// Spec: 2026-07-28 basic/patterns/mrtr
func (c *Call) InputRequest(method string, params any) (mcp.InputRequest, error) {
	raw, err := c.questionParams(method, params)
	return mcp.InputRequest{Method: method, Params: raw}, err
}

func (c *Call) questionParams(method string, params any) (jsontext.Value, error) {
	if err := c.CheckQuestion(method, params); err != nil {
		return nil, err
	}
	if params == nil {
		return jsontext.Value("{}"), nil
	}
	return c.Facts.marshal(params)
}

// CheckQuestion returns nil if the caller can answer a question: its revision
// has a form for it, and the caller declared the capability. Otherwise the
// error has CodeMissingCapability.
func (c *Call) CheckQuestion(method string, params any) error {
	if !c.Facts.canExpress(method, params) {
		err := mcp.Errorf(mcp.CodeMissingCapability, "%s: revision %s has no %s", method, c.Facts.Revision, feature(method, params))
		if need := Missing(method, params, &noCapabilities); need != nil {
			err.Data = requiredCapabilities(*need)
		}
		return err
	}
	if need := Missing(method, params, c.Capabilities); need != nil {
		return missingCapability(method, *need)
	}
	return nil
}

// feature returns what the specification calls the feature that a question uses.
func feature(method string, params any) string {
	switch p := params.(type) {
	case *mcp.ElicitParams:
		if p.Mode == mcp.ElicitURL {
			return "URL elicitation"
		}
		return "elicitation"
	case *mcp.CreateMessageParams:
		if len(p.Tools) > 0 || p.ToolChoice != nil {
			return "sampling with tools"
		}
		return "sampling with such content"
	}
	return method
}

// canExpress reports whether the revision has a form for the question.
func (f *Facts) canExpress(method string, params any) bool {
	if f.Era == SessionEra && anyServerRequest[method] && !f.ServerRequests[method] {
		return false
	}
	switch p := params.(type) {
	case *mcp.ElicitParams:
		return f.ElicitURL || p.Mode != mcp.ElicitURL
	case *mcp.CreateMessageParams:
		return f.samples(p)
	}
	return true
}

// CancelQuestion encodes the cancellation of a request to a client. The reason is that of the
// cancellation which was the cause, if there was one.
func CancelQuestion(id jsonrpc.ID, cause error) []byte {
	if cancelled, ok := errors.AsType[*mcp.CancelledError](cause); ok {
		return encodeCancel(id, cancelled.Reason)
	}
	return encodeCancel(id, "")
}

// anyServerRequest holds the server's requests of every revision.
var anyServerRequest = func() map[string]bool {
	all := make(map[string]bool)
	for _, f := range facts {
		for m := range f.ServerRequests {
			all[m] = true
		}
	}
	return all
}()

// Missing returns the capabilities that a client lacks for a request of the
// method with the given params, or nil when it lacks none.
func Missing(method string, params any, has *mcp.ClientCapabilities) *mcp.ClientCapabilities {
	switch method {
	case mcp.MethodCreateMessage:
		p, _ := params.(*mcp.CreateMessageParams)
		tools := p != nil && (len(p.Tools) > 0 || p.ToolChoice != nil)
		switch {
		case has.Sampling == nil && !tools:
			return &mcp.ClientCapabilities{Sampling: new(mcp.SamplingCapability)}
		case tools && (has.Sampling == nil || has.Sampling.Tools == nil):
			return &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: new(mcp.Capability)}}
		}
	case mcp.MethodRootsList:
		if has.Roots == nil {
			return &mcp.ClientCapabilities{Roots: new(mcp.RootsCapability)}
		}
	case mcp.MethodElicit:
		p, _ := params.(*mcp.ElicitParams)
		switch url := p != nil && p.Mode == mcp.ElicitURL; {
		case url && !has.Elicitation.CanURL():
			return &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: new(mcp.Capability)}}
		case !url && !has.Elicitation.CanForm():
			return &mcp.ClientCapabilities{Elicitation: new(mcp.ElicitationCapability)}
		}
	}
	return nil
}

// MissingExtension is the error for a request that needs an extension which its
// sender did not declare.
//
// Spec: 2026-07-28 basic/versioning#missing-required-client-capability
func MissingExtension(what, id string) *mcp.Error {
	err := mcp.Errorf(mcp.CodeMissingCapability, "%s: the client did not declare the extension %s", what, id)
	err.Data = requiredCapabilities(mcp.ClientCapabilities{Extensions: map[string]jsontext.Value{id: jsontext.Value("{}")}})
	return err
}

// missingCapability is the error for a request that needs more than its sender
// declared. Its data has the shape of the capabilities themselves.
//
// Spec: 2026-07-28 basic/versioning#missing-required-client-capability
func missingCapability(method string, need mcp.ClientCapabilities) *mcp.Error {
	err := mcp.Errorf(mcp.CodeMissingCapability, "%s: the client did not declare the capability for it", method)
	err.Data = requiredCapabilities(need)
	return err
}

func requiredCapabilities(need mcp.ClientCapabilities) jsontext.Value {
	data, _ := json.Marshal(mcp.MissingCapabilityData{RequiredCapabilities: need})
	return data
}
