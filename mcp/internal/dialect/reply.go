package dialect

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// Reply is an encoded JSON-RPC response to one request, on one line.
type Reply struct {
	// Body is the response without the Parts.
	Body []byte
	// Parts are the large pieces of the response, in the order of their
	// positions in Body.
	Parts []Part
	// Status is the HTTP status of the response.
	Status int
	// Challenge is the WWW-Authenticate header over HTTP. May be empty.
	Challenge string
	// Err is the error in Body, or nil.
	Err *mcp.Error
	// Retry is the time to wait before the request is sent again; 0 means
	// unspecified.
	Retry time.Duration
}

// Part is a large piece of a response that is not copied into its body.
type Part struct {
	// At is the byte position in the body.
	At int
	// JSON is the piece. Other replies share it; it must not be changed.
	JSON []byte
	// Text is the piece as the content of a JSON string, instead of JSON.
	Text rawjson.Text
}

// Size returns the length of the response in bytes.
func (r *Reply) Size() int {
	size := len(r.Body)
	for _, p := range r.Parts {
		size += len(p.JSON) + p.Text.Size()
	}
	return size
}

// Whole returns the response in one piece.
func (r *Reply) Whole() []byte {
	if len(r.Parts) == 0 {
		return r.Body
	}
	whole, done := make([]byte, 0, r.Size()), 0
	for _, p := range r.Parts {
		whole = append(append(whole, r.Body[done:p.At]...), p.JSON...)
		whole, done = p.Text.Append(whole), p.At
	}
	return append(whole, r.Body[done:]...)
}

func (r *Reply) add(s string) { r.Body = append(r.Body, s...) }

// insert adds a part at the end of the body.
func (r *Reply) insert(p Part) {
	p.At = len(r.Body)
	r.Parts = append(r.Parts, p)
}

// Encoded is a result that was converted to a revision and encoded: the members
// of an object without its braces, and separately the envelope. It does not
// depend on the call, so lists are cached in this form.
type Encoded struct {
	kind    mcp.ResultType
	meta    []byte // members of the author's own metadata
	members []byte
	text    *textResult // in place of members: encoded into the reply
}

// Reply encodes the outcome of the call for its caller: the encoded result in
// the envelope of the revision, or the error with its number.
func (c *Call) Reply(e *Encoded, err error) Reply {
	if err != nil {
		return c.errorReply(err)
	}
	maxInline := math.MaxInt
	if c.inParts {
		maxInline = largePart
	}
	id := c.ID.Raw()
	r := Reply{Body: make([]byte, 0, len(id)+e.size(maxInline)+len(c.server.identity)+96), Status: statusOK}
	r.add(`{"jsonrpc":"2.0","id":`)
	r.Body = append(r.Body, id...)
	r.add(`,"result":{`)
	r.Body = c.appendEnvelope(r.Body, e)
	switch {
	case e.text != nil:
		e.text.appendTo(&r, maxInline)
	case len(e.members) > maxInline:
		r.insert(Part{JSON: e.members})
	default:
		r.Body = append(r.Body, e.members...)
	}
	r.add(`}}`)
	return r
}

// largePart is the size in bytes above which a piece becomes a Part, because a
// Part then costs less than a copy.
const largePart = 16 << 10

// appendEnvelope begins the result with its type, the server's info and the
// author's metadata, as far as the revision has them.
func (c *Call) appendEnvelope(body []byte, e *Encoded) []byte {
	start := len(body)
	if c.Facts.Envelope {
		kind := cmp.Or(e.kind, mcp.ResultComplete)
		body = append(body, `"resultType":"`...)
		body = append(body, kind...)
		body = append(body, `","_meta":{`...)
		body = append(body, c.server.identity...)
		if len(e.meta) > 0 {
			body = append(append(body, ','), e.meta...)
		}
		body = append(body, '}')
	} else if len(e.meta) > 0 {
		body = append(body, `"_meta":{`...)
		body = append(append(body, e.meta...), '}')
	}
	if len(body) > start && (len(e.members) > 0 || e.text != nil) {
		body = append(body, ',')
	}
	return body
}

// identity is the member of every result's metadata that holds the server's
// info.
func identity(info mcp.Implementation) []byte {
	raw, err := json.Marshal(info)
	if err != nil {
		panic("dialect: implementation: " + err.Error())
	}
	return append([]byte(`"`+keyServerInfo+`":`), raw...)
}

// errorReply encodes an error. If it is not an *mcp.Error, the peer gets an
// internal error without its text.
func (c *Call) errorReply(err error) Reply {
	status, challenge := statusOK, ""
	if r, ok := errors.AsType[*Refusal](err); ok {
		status, challenge = r.Status, r.Challenge
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		e = mcp.Errorf(mcp.CodeInternal, "internal error")
	}
	retry, busy := e.RetryAfter()
	switch {
	case busy:
		status = int(baseNumbers[e.Code])
	case c.Facts.Era == StatelessEra && status == statusOK:
		status = cmp.Or(statelessStatus[e.Code], statusOK)
	}
	body := jsonrpc.AppendError(nil, c.ID, c.Facts.wireError(e))
	return Reply{Body: body, Status: status, Challenge: challenge, Err: e, Retry: retry}
}

// wireError returns e in its wire form. It omits data that is not strict JSON,
// because that would make the whole response invalid.
func (f *Facts) wireError(e *mcp.Error) *jsonrpc.Error {
	out := &jsonrpc.Error{Code: f.WireNumber(e), Message: validText(e.Message)}
	if e.Data.IsValid() {
		out.Data = e.Data
	}
	return out
}

// statelessStatus are the HTTP statuses of codes in the stateless era, except
// the default.
//
// Spec: 2026-07-28 basic/transports#streamable-http
var statelessStatus = map[mcp.Code]int{
	mcp.CodeMethodNotFound:     statusNotFound,
	mcp.CodeHeaderMismatch:     statusBadRequest,
	mcp.CodeMissingCapability:  statusBadRequest,
	mcp.CodeUnsupportedVersion: statusBadRequest,
}

// WireNumber returns the number of e in this revision. An application's own
// number is kept if it lies outside the range of JSON-RPC and the protocol.
func (f *Facts) WireNumber(e *mcp.Error) int64 {
	if e.Code == mcp.CodeOther && (e.Number < -32768 || e.Number > -32000) {
		return e.Number
	}
	return f.Number(e.Code)
}

// Type returns the type of the result; "" means ResultComplete.
func (e *Encoded) Type() mcp.ResultType { return e.kind }

// Size returns the approximate size of the result in bytes.
func (e *Encoded) Size() int { return e.size(math.MaxInt) }

// size is Size without parts of more than maxInline bytes.
func (e *Encoded) size(maxInline int) int {
	switch {
	case e.text != nil:
		return e.text.size(maxInline)
	case len(e.members) > maxInline:
		return len(e.meta)
	}
	return len(e.members) + len(e.meta)
}

// Encode converts a result to the shape of the revision and encodes it, without
// modifying it. Nil means the empty result; an Encoded is returned unchanged.
func (f *Facts) Encode(result any) (*Encoded, error) {
	if e, ok := result.(*Encoded); ok {
		return e, nil
	}
	if result == nil {
		return new(Encoded), nil
	}
	if r, ok := result.(*mcp.CallToolResult); ok {
		if p := f.textResultOf(r); p != nil {
			return &Encoded{text: p}, nil
		}
	}
	if r, ok := result.(*mcp.InputRequiredResult); ok && r.ResultType != "" {
		if members := plainInputRequired(r); members != nil {
			return &Encoded{kind: r.ResultType, members: members}, nil
		}
	}
	raw, err := f.marshal(result)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	if kind := jsontext.Value(raw).Kind(); kind != '{' {
		return nil, fmt.Errorf("encode result: want an object, found %s", kindName(byte(kind)))
	}
	return splitResult(raw)
}

// Encode is Facts.Encode for the result of this call. It adds the task id to
// the metadata of a tasks/result.
//
// Spec: 2025-11-25 basic/utilities/tasks#related-task-metadata
func (c *Call) Encode(result any) (*Encoded, error) {
	e, err := c.Facts.Encode(result)
	if err != nil || c.Method != mcp.MethodTasksResult {
		return e, err
	}
	task := rawjson.Member(c.Params, "taskId")
	if task == nil {
		return e, nil
	}
	related := *e
	related.meta = fmt.Appendf(nil, `"%s":{"taskId":%s}`, mcp.MetaRelatedTask, task)
	if len(e.meta) > 0 {
		related.meta = append(append(related.meta, ','), e.meta...)
	}
	return &related, nil
}

// splitResult separates the envelope from an encoded result.
func splitResult(raw []byte) (*Encoded, error) {
	e := new(Encoded)
	if bytes.Contains(raw, []byte(`"resultType"`)) {
		var split struct {
			Kind mcp.ResultType `json:"resultType"`
			Rest jsontext.Value `json:",embed"`
		}
		if err := json.Unmarshal(raw, &split); err != nil {
			return nil, fmt.Errorf("encode result: %w", err)
		}
		e.kind, raw = split.Kind, orEmpty(split.Rest)
	}
	members, meta, err := splitMeta(raw)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	e.members = members
	e.meta, err = metaMembers(meta)
	return e, err
}

// Notification encodes a notification in the form of the revision. It returns
// nil if the revision has no such notification.
func (f *Facts) Notification(method string, params any) ([]byte, error) {
	if !f.ServerNotifications[method] && anyNotification[method] {
		return nil, nil
	}
	raw, err := f.marshal(params)
	if err != nil {
		return nil, err
	}
	if string(raw) == "null" { // params are an object or absent
		raw = nil
	}
	return jsonrpc.AppendNotification(nil, method, raw), nil
}

// anyNotification holds the server's notifications of every revision.
var anyNotification = func() map[string]bool {
	all := make(map[string]bool)
	for _, f := range facts {
		for m := range f.ServerNotifications {
			all[m] = true
		}
	}
	return all
}()

// Refuse encodes an error that was found before a message was opened: the frame
// was not JSON, not a message, or not allowed here.
func Refuse(id jsonrpc.ID, err *mcp.Error) Reply {
	number := baseNumbers[err.Code]
	if number == 0 {
		number = baseNumbers[mcp.CodeInvalidRequest]
	}
	reply := Reply{
		Body:   jsonrpc.AppendError(nil, id, &jsonrpc.Error{Code: number, Message: validText(err.Message), Data: err.Data}),
		Status: statusBadRequest,
		Err:    err,
	}
	if retry, busy := err.RetryAfter(); busy {
		reply.Status, reply.Retry = int(number), retry
	}
	return reply
}

const maxMessage = 1024 // bytes of an error message

// validText limits the size of an error message, removes control characters except newline and tab,
// and makes it valid UTF-8.
func validText(s string) string {
	s = strings.Map(printable, s[:min(len(s), 2*maxMessage)])
	if len(s) > maxMessage {
		cut := maxMessage
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}

// printable keeps U+FFFD, to which strings.Map converts invalid UTF-8.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}
