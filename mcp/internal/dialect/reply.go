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
	// Parts are the large pieces of the response, in the order of their places in
	// Body.
	Parts []Part
	// Status is the HTTP status that goes with it.
	Status int
	// Challenge asks for other credentials, where HTTP can. May be empty.
	Challenge string
	// Err is the error that Body carries, or nil.
	Err *mcp.Error
	// Retry is after what time the request may be sent again; 0 says nothing.
	Retry time.Duration
}

// Part is a large piece of a response that is not copied into its body.
type Part struct {
	// At is the place in the body.
	At int
	// JSON is the piece. Other replies share it, so it must not be changed.
	JSON []byte
	// Text, in place of JSON, is the piece as the content of a JSON string.
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

// Encoded is a result that was brought into the shape of a revision and encoded:
// the members of an object without its braces, with the envelope apart. It does
// not depend on the call, so lists are kept in this form.
type Encoded struct {
	kind    mcp.ResultType
	meta    []byte // members of the author's own metadata
	members []byte
	text    *textResult // in place of members: encoded into the reply
}

// Reply encodes the outcome of the call in the form of its caller: the encoded
// result in the envelope of the revision, or the error with its number.
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

// largePart is the size in bytes above which a piece becomes a Part: from there
// on, not copying it costs less.
const largePart = 16 << 10

// appendEnvelope opens the result with its type, the server's identity and the
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

// identity is the member of every result's metadata that says who answers.
func identity(info mcp.Implementation) []byte {
	raw, err := json.Marshal(info)
	if err != nil {
		panic("dialect: implementation: " + err.Error())
	}
	return append([]byte(`"`+keyServerInfo+`":`), raw...)
}

// errorReply encodes an error. An error that is no *mcp.Error is private: the
// peer gets an internal error without its text.
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

// wireError returns e as it is sent. Data that is not strict JSON is left out,
// because it would make the whole response unreadable.
func (f *Facts) wireError(e *mcp.Error) *jsonrpc.Error {
	out := &jsonrpc.Error{Code: f.WireNumber(e), Message: validText(e.Message)}
	if e.Data.IsValid() {
		out.Data = e.Data
	}
	return out
}

// statelessStatus are the HTTP statuses of errors that have one of their own.
//
// Spec: 2026-07-28 basic/transports#streamable-http
var statelessStatus = map[mcp.Code]int{
	mcp.CodeMethodNotFound:     statusNotFound,
	mcp.CodeHeaderMismatch:     statusBadRequest,
	mcp.CodeMissingCapability:  statusBadRequest,
	mcp.CodeUnsupportedVersion: statusBadRequest,
}

// WireNumber returns the number of e in this revision. An application's own
// number passes when it lies outside the range of JSON-RPC and the protocol.
func (f *Facts) WireNumber(e *mcp.Error) int64 {
	if e.Code == mcp.CodeOther && (e.Number < -32768 || e.Number > -32000) {
		return e.Number
	}
	return f.Number(e.Code)
}

// Type returns what kind of result it is; "" stands for ResultComplete.
func (e *Encoded) Type() mcp.ResultType { return e.kind }

// Size returns about how many bytes the result has.
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

// Encode brings a result, which is not modified, into the shape of the revision.
// Nil is the empty result, and what is encoded already stays as it is.
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
	raw, err := f.marshal(result)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	if kind := jsontext.Value(raw).Kind(); kind != '{' {
		return nil, fmt.Errorf("encode result: want an object, found %s", kindName(byte(kind)))
	}
	return splitResult(raw)
}

// Encode is Facts.Encode for the result of this call. The result of tasks/result
// says which task it is of.
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

// splitResult takes the envelope out of an encoded result.
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
	var err error
	e.members, e.meta, err = splitMeta(raw)
	return e, err
}

// Notification encodes a notification in the form of the revision. It returns
// nil when the revision has no such notification.
func (f *Facts) Notification(method string, params any) ([]byte, error) {
	if !f.ServerNotifications[method] && anyNotification[method] {
		return nil, nil
	}
	raw, err := f.marshal(params)
	if err != nil {
		return nil, err
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

// Refuse encodes an error that was found before a message could be opened: the
// frame was not JSON, not a message, or not allowed here.
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

// validText bounds an error message, leaves control characters out but for newline
// and tab, and makes it valid UTF-8.
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

// printable maps bytes that are no UTF-8 to U+FFFD, as strings.Map does by itself.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}
