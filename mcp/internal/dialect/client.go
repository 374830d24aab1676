package dialect

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// Client encodes the messages that a client sends and decodes those that it
// gets, in the negotiated revision. It is immutable and safe for concurrent
// use.
type Client struct {
	Facts *Facts
	// meta holds the members of _meta that every request of the stateless era
	// starts with, and every notification of an extension, up to the log level.
	meta []byte
	// declared is meta as a part of cache keys.
	declared string
}

// NewClient returns the Client for the revision of f.
func NewClient(f *Facts, info mcp.Implementation, caps mcp.ClientCapabilities) (*Client, error) {
	c := &Client{Facts: f}
	if f.Era != StatelessEra {
		return c, nil
	}
	who, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("client info: %w", err)
	}
	can, err := json.Marshal(f.clientCapabilities(caps), json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("client capabilities: %w", err)
	}
	c.meta = fmt.Appendf(nil, `"%s":"%s","%s":%s,"%s":%s`,
		keyVersion, f.Revision, keyCapabilities, can, keyClientInfo, who)
	c.declared = string(c.meta)
	return c, nil
}

// RequestParams are the contents of a client's request or notification.
type RequestParams struct {
	Method string
	// Params is a params type of package mcp, or any value that encodes as a
	// JSON object, or nil.
	Params any
	// Meta is the user's metadata in addition to that in Params.
	Meta mcp.Meta
	// Trace is sent unless the metadata has one.
	Trace mcp.Trace
	// Progress requests progress notifications; the token is the request's id.
	Progress bool
	// LogLevel requests log messages of this call; the session era ignores it.
	LogLevel mcp.LoggingLevel
	// Mirrors are those of the called tool.
	Mirrors []Mirror
	// NameMember is the member of params that the name header repeats, for a
	// method of an extension; otherwise "".
	NameMember string
}

// Request is an encoded request that lacks only its id.
type Request struct {
	Method  string
	Headers OutHeaders

	client   *Client
	progress bool
	level    mcp.LoggingLevel
	user     []byte // members of the user's own metadata
	trace    mcp.Trace
	members  []byte // members of params but for _meta and those below
	// responses are the members that a later round adds.
	responses []byte
}

// OutHeaders are the values of the standard headers of an outbound message,
// encoded for the wire. Empty ones are not sent.
type OutHeaders struct {
	Version, Method, Name string
	Params                []HeaderParam
}

// HeaderParam is one mirrored tool parameter.
type HeaderParam struct{ Name, Value string }

// Request encodes the params of a request or notification. The result can be
// encoded into several messages.
func (c *Client) Request(p RequestParams) (*Request, error) {
	r := &Request{Method: p.Method, client: c, progress: p.Progress, level: p.LogLevel}
	raw, err := c.params(p.Params)
	if err != nil {
		return nil, fmt.Errorf("%s: params: %w", p.Method, err)
	}
	if kind := raw.Kind(); kind != '{' {
		return nil, fmt.Errorf("%s: params: want an object, found %s", p.Method, kindName(byte(kind)))
	}
	members, meta, err := splitMeta(raw)
	if err == nil {
		r.members = members
		r.user, err = userMembers(meta)
	}
	if err == nil {
		err = r.addMeta(p.Meta)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Method, err)
	}
	r.addTrace(p.Trace)
	r.Headers = c.headers(p, raw)
	return r, nil
}

// params encodes the params of a request.
func (c *Client) params(v any) (jsontext.Value, error) {
	switch call, ok := v.(*mcp.CallToolParams); {
	case v == nil:
		return jsontext.Value("{}"), nil
	case ok && isPlainCall(call):
		return plainCall(call), nil
	}
	return c.Facts.marshal(v)
}

// addMeta adds metadata to params that have none.
func (r *Request) addMeta(meta mcp.Meta) error {
	if len(meta) == 0 {
		return nil
	}
	if len(r.user) > 0 {
		return errors.New("metadata in the params and in Meta: want it in one place")
	}
	var err error
	r.user, err = userMembers(meta)
	return err
}

// addTrace adds a trace context to what the metadata has of one.
func (r *Request) addTrace(t mcp.Trace) {
	if t == (mcp.Trace{}) {
		return
	}
	var user []byte
	if len(r.user) > 0 {
		user = braced(r.user)
	}
	r.trace = besideTrace(t, func(name string) bool { return user != nil && rawjson.Member(user, name) != nil })
}

// besideTrace returns the fields of a trace context that can be added to metadata: the fields of two trace contexts
// must not be mixed. Baggage is independent of the others.
func besideTrace(t mcp.Trace, has func(name string) bool) mcp.Trace {
	if has(mcp.MetaTraceparent) || has(mcp.MetaTracestate) {
		t.Parent = ""
	}
	if t.Parent == "" {
		t.State = ""
	}
	if has(mcp.MetaBaggage) {
		t.Baggage = ""
	}
	return t
}

// traceLen returns the length of the members of the trace context.
func (r *Request) traceLen() int {
	if r.trace == (mcp.Trace{}) {
		return 0
	}
	const names = len(`"traceparent":"","tracestate":"","baggage":"",`)
	return names + len(r.trace.Parent) + len(r.trace.State) + len(r.trace.Baggage)
}

// appendTrace appends the members of the trace context, each with a comma.
func (r *Request) appendTrace(msg []byte) []byte {
	for _, m := range [...]struct{ name, value string }{
		{mcp.MetaTraceparent, r.trace.Parent}, {mcp.MetaTracestate, r.trace.State}, {mcp.MetaBaggage, r.trace.Baggage},
	} {
		if m.value != "" {
			msg = append(append(append(msg, '"'), m.name...), `":`...)
			msg = append(rawjson.AppendString(msg, m.value), ',')
		}
	}
	return msg
}

// Again returns the request with the answers and the state of a user's own round.
func (r *Request) Again(in mcp.InputResponseParams) (*Request, error) {
	more := plainInputResponses(&in)
	if more == nil {
		raw, err := json.Marshal(in, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("%s: input responses: %w", r.Method, err)
		}
		more = raw[1 : len(raw)-1]
	}
	return r.withResponses(more), nil
}

// splitMeta returns the members of an object without its _meta, and its _meta.
func splitMeta(raw []byte) (members []byte, meta mcp.Meta, err error) {
	inner := bytes.TrimSpace(raw[1 : len(raw)-1])
	if !bytes.Contains(raw, []byte(`"_meta"`)) {
		return inner, nil, nil
	}
	var split struct {
		Meta mcp.Meta       `json:"_meta"`
		Rest jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(raw, &split); err != nil {
		return nil, nil, err
	}
	if len(split.Rest) > 1 {
		members = bytes.TrimSpace(split.Rest[1 : len(split.Rest)-1])
	}
	return members, split.Meta, nil
}

// userMembers encodes the members of the metadata of a request that may be sent, without
// braces. A key off the grammar is an error.
func userMembers(meta mcp.Meta) ([]byte, error) {
	for key := range meta {
		if err := mcp.CheckMetaKey(key); err != nil {
			return nil, err
		}
	}
	return metaMembers(meta)
}

// metaMembers encodes the members of metadata that may be sent, without braces.
func metaMembers(meta mcp.Meta) ([]byte, error) {
	clean := cleanMeta(meta)
	if len(clean) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(clean, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return raw[1 : len(raw)-1], nil
}

// Encode returns the message under the given id; a zero id makes a notification.
func (r *Request) Encode(id jsonrpc.ID) []byte {
	const around = 192
	msg := make([]byte, 0, len(r.Method)+len(r.members)+len(r.responses)+len(r.user)+len(r.client.meta)+r.traceLen()+around)
	msg = append(jsonrpc.BeginCall(msg, id, r.Method), '{')
	empty := len(msg)
	msg = r.appendMeta(msg, id)
	for _, members := range [...][]byte{r.members, r.responses} {
		if len(msg) > empty && len(members) > 0 {
			msg = append(msg, ',')
		}
		msg = append(msg, members...)
	}
	return append(msg, "}}"...)
}

// carriesClientInfo reports whether the message carries the client's info and capabilities.
// Requests of the stateless era do, and so do notifications of extensions: their receiver must know
// whether the extension was declared, and may have no state.
//
// Spec: 2026-07-28 basic#meta
func (r *Request) carriesClientInfo(id jsonrpc.ID) bool {
	return len(r.client.meta) > 0 && (!id.IsZero() || !r.client.Facts.ClientNotifications[r.Method])
}

// appendMeta appends the metadata of the message as a member, if there is any.
func (r *Request) appendMeta(msg []byte, id jsonrpc.ID) []byte {
	const key = `"_meta":{`
	start := len(msg)
	msg = append(msg, key...)
	if r.carriesClientInfo(id) {
		msg = append(append(msg, r.client.meta...), ',')
		if r.level != "" {
			msg = append(append(append(msg, `"`+keyLogLevel+`":"`...), r.level...), `",`...)
		}
	}
	if !id.IsZero() && r.progress {
		msg = append(append(append(msg, `"`+keyProgress+`":`...), id.Raw()...), ',')
	}
	msg = r.appendTrace(msg)
	if len(r.user) > 0 {
		msg = append(append(msg, r.user...), ',')
	}
	if len(msg) == start+len(key) {
		return msg[:start]
	}
	msg[len(msg)-1] = '}'
	return msg
}

// headers returns the values of the standard headers. They are sent in every
// revision: a server either ignores them or finds them correct. In the session
// era the binding sets the version header, because the first request has none.
func (c *Client) headers(p RequestParams, params jsontext.Value) OutHeaders {
	h := OutHeaders{Method: EncodeHeader(p.Method)}
	if c.Facts.VersionHeader && p.Method != mcp.MethodInitialize {
		h.Version = c.Facts.Revision.String()
	}
	if call, ok := p.Params.(*mcp.CallToolParams); ok && p.Method == mcp.MethodToolsCall {
		h.Name = EncodeHeader(call.Name)
	} else if name, ok := bodyName(cmp.Or(nameMember(p.Method, nil), p.NameMember), params); ok {
		h.Name = EncodeHeader(name)
	}
	if len(p.Mirrors) > 0 {
		arguments := rawjson.Member(params, "arguments")
		for _, m := range p.Mirrors {
			if v, ok := m.Value(arguments); ok {
				h.Params = append(h.Params, HeaderParam{Name: m.Name, Value: EncodeHeader(v)})
			}
		}
	}
	return h
}

// Cancel encodes the notification that cancels the request of that id.
func (c *Client) Cancel(id jsonrpc.ID, reason string) []byte {
	return encodeCancel(id, reason)
}

func encodeCancel(id jsonrpc.ID, reason string) []byte {
	params := append([]byte(`{"requestId":`), id.Raw()...)
	if reason != "" {
		params = append(params, `,"reason":`...)
		params, _ = jsontext.AppendQuote(params, validText(reason))
	}
	return jsonrpc.AppendNotification(nil, mcp.NotificationCancelled, append(params, '}'))
}

// Outcome is a decoded response: a result, or a request for input.
type Outcome struct {
	// Type is ResultComplete (also in revisions whose results have no type) or
	// the result type of an extension.
	Type   mcp.ResultType
	Result jsontext.Value
	// InputRequired is set if the server needs input before it can answer.
	InputRequired *InputRequired
}

// Result decodes a response. It returns an error of the server as an *mcp.Error with Remote set. An
// error whose data names a resource has CodeResourceNotFound in every revision. A result whose type
// is neither of the core nor of the extensions is a *ProtocolError.
//
// Spec: 2026-07-28 basic#responses
func (c *Client) Result(method string, m jsonrpc.Message, extensions ...mcp.ResultType) (Outcome, error) {
	if m.Error != nil {
		err := c.Error(m.Error)
		if method == mcp.MethodResourcesRead && err.Code == mcp.CodeInvalidParams && rawjson.Member(m.Error.Data, "uri") != nil {
			err.Code = mcp.CodeResourceNotFound
		}
		return Outcome{}, err
	}
	if !c.Facts.Envelope {
		return Outcome{Type: mcp.ResultComplete, Result: withoutType(m.Result)}, nil
	}
	kind, err := resultType(m.Result)
	if err != nil {
		return Outcome{}, Invalid("%s: resultType: want a string", method)
	}
	switch kind {
	case "", mcp.ResultComplete:
		return Outcome{Type: mcp.ResultComplete, Result: m.Result}, nil
	case mcp.ResultInputRequired:
		in, err := decodeInputRequired(m.Result)
		if err != nil {
			return Outcome{}, Invalid("%s: %s", method, reason(err))
		}
		return Outcome{InputRequired: in}, nil
	}
	if slices.Contains(extensions, kind) {
		return Outcome{Type: kind, Result: m.Result}, nil
	}
	return Outcome{}, Invalid("%s: resultType %q: want one of %q", method, clip(string(kind)), append([]mcp.ResultType{mcp.ResultComplete, mcp.ResultInputRequired}, extensions...))
}

// withoutType returns a result of a revision whose results have no type, without the member that would be one. It
// means nothing there, and must not begin to mean something where the result is passed on.
func withoutType(result jsontext.Value) jsontext.Value {
	const member = "resultType"
	if rawjson.Member(result, member) == nil {
		return result
	}
	return withMember(result, member, nil)
}

// resultType returns the type of a result. The default is ResultComplete.
func resultType(result jsontext.Value) (mcp.ResultType, error) {
	raw := rawjson.Member(result, "resultType")
	switch string(raw) {
	case "", `"complete"`:
		return mcp.ResultComplete, nil
	case `"input_required"`:
		return mcp.ResultInputRequired, nil
	}
	var kind mcp.ResultType
	err := json.Unmarshal(raw, &kind)
	return kind, err
}

// numberResourceNotFound is accepted in every revision, because older servers
// behind newer ones still send it.
const numberResourceNotFound = -32002

// Error converts an error of the wire to an *mcp.Error.
func (c *Client) Error(e *jsonrpc.Error) *mcp.Error { return c.Facts.Error(e) }

// Error returns the error of a peer that speaks the revision.
func (f *Facts) Error(e *jsonrpc.Error) *mcp.Error {
	code := f.CodeFor(e.Code)
	if e.Code == numberResourceNotFound {
		code = mcp.CodeResourceNotFound
	}
	return &mcp.Error{Code: code, Number: e.Code, Message: e.Message, Data: e.Data, Remote: true}
}

// IsModernError reports whether a response is certainly from a server of the
// stateless era: it has an error number and the data that only this era
// defines.
//
// Spec: 2026-07-28 basic/versioning#backward-compatibility
func IsModernError(e *jsonrpc.Error) bool {
	if e == nil {
		return false
	}
	switch Newest(StatelessEra).CodeFor(e.Code) {
	case mcp.CodeUnsupportedVersion:
		return rawjson.Member(e.Data, "supported").Kind() == '['
	case mcp.CodeMissingCapability:
		return rawjson.Member(e.Data, "requiredCapabilities").Kind() == '{'
	case mcp.CodeHeaderMismatch:
		return true
	}
	return false
}

// SupportedIn returns the known revisions that a server lists in the data of an
// unsupported-version error, newest first.
func SupportedIn(e *jsonrpc.Error) []mcp.Revision {
	var data struct {
		Supported []string `json:"supported"`
	}
	if e == nil || json.Unmarshal(e.Data, &data) != nil {
		return nil
	}
	return Known(data.Supported)
}

// Negotiated returns the revision that a server names in its answer to initialize, or none
// if it is not known. A date before the first revision, under which the protocol was
// developed, stands for the first one.
func Negotiated(name string) []mcp.Revision {
	first := facts[0].Revision
	if _, err := time.Parse(time.DateOnly, name); err == nil && name < first.String() {
		return []mcp.Revision{first}
	}
	return Known([]string{name})
}

// Known returns the known revisions among names, newest first.
func Known(names []string) []mcp.Revision {
	var known []mcp.Revision
	for i := len(facts) - 1; i >= 0; i-- {
		for _, name := range names {
			if facts[i].Revision.String() == name {
				known = append(known, facts[i].Revision)
				break
			}
		}
	}
	return known
}
