package exchange

import (
	"fmt"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// A response without an id, or whose id cannot be recognized, ends a request only if there is
// no doubt to which it is the response:
//
//   - Exactly one request of the connection or session has no response. Requests that were
//     given up count too, as long as they have none: otherwise the late response to a call
//     that one caller has cancelled could end the call of another one.
//   - It cannot be about a message that has no response. Some peers reject notifications and
//     responses, with an error of JSON-RPC itself, or answer notifications with an empty
//     result. A client takes those only once the server has answered a request that was sent
//     after all such messages, and if it has sent none before that. A server does not take
//     them, because it sends notifications at any time.
//
// Any other one is dropped and logged, and its request ends with its deadline.

// unanswerable counts the messages that are sent and that have no response: notifications and
// responses. The zero value is ready for use; it is safe for concurrent use.
type unanswerable struct {
	sent atomic.Int64 // twice for each message: before and after it is written
	read atomic.Int64 // the value of sent that the peer has passed

	answered atomic.Bool // a response was probably about one of them
}

// begin is called before such a message is written, and end afterwards.
func (u *unanswerable) begin() { u.sent.Add(1) }
func (u *unanswerable) end()   { u.sent.Add(1) }

// mark is called before a request is written. Its result is for passed.
func (u *unanswerable) mark() int64 { return u.sent.Load() }

// passed is called when the peer has answered a request. Peers read messages in order, so it
// has read all that were written before the request.
func (u *unanswerable) passed(mark int64) { u.read.Store(mark) }

// excluded reports whether a response cannot be about one of them: the peer has read all of
// them, and has answered none.
func (u *unanswerable) excluded() bool {
	if u.read.Load() != u.sent.Load() {
		u.answered.Store(true)
	}
	return !u.answered.Load()
}

// rejectsMessage reports whether the error is one of JSON-RPC itself with which peers reject
// messages that have no response. Those can be parsed, so CodeParse is not among them.
func rejectsMessage(e *jsonrpc.Error) bool {
	const methodNotFound, internalError = -32601, -32603
	switch e.Code {
	case jsonrpc.CodeInvalidRequest, methodNotFound, internalError:
		return true
	}
	return false
}

// errorWithoutID processes a response of the server that is an error without an id.
func (l *connLink) errorWithoutID(m jsonrpc.Message) {
	if !rejectsMessage(m.Error) || l.unanswerable.excluded() {
		if m.ID = l.pending.Only(); l.pending.Resolve(m) {
			return
		}
	}
	l.inbox.Malformed(&jsonrpc.DecodeError{ // which is logged; a response has no response
		Code:    jsonrpc.CodeInvalidRequest,
		Kind:    jsonrpc.Response,
		Reason:  "a response without an id, and there are several messages that it may be about",
		Excerpt: fmt.Sprintf("error %d: %.100q", m.Error.Code, m.Error.Message),
	})
}

// refuseOnly fails the only request without a response, if the message of the server that
// could not be decoded, and has no id, is certainly the response to it.
func (l *connLink) refuseOnly(bad *jsonrpc.DecodeError) bool {
	if !bad.ID.IsZero() || !bad.JSONRPC || !bad.Result && !l.unanswerable.excluded() {
		return false
	}
	return l.pending.Refuse(l.pending.Only(), dialect.Invalid("%w", bad))
}

// Resolve ends the request of the server to which m is the response. It reports false if no
// request waits for it here.
func (s *Session) Resolve(m jsonrpc.Message) (taken bool) {
	if m.ID.IsZero() && !rejectsMessage(m.Error) {
		m.ID = s.Pending.Only()
	}
	return s.Pending.Resolve(m)
}

// refuseOnly fails the only request of the server without a response, if the text that could
// not be decoded, and has no id, is certainly the response to it.
func (s *Session) refuseOnly(bad *jsonrpc.DecodeError) bool {
	return bad.ID.IsZero() && bad.JSONRPC && bad.Result && s.Pending.Refuse(s.Pending.Only(), dialect.Invalid("%w", bad))
}
