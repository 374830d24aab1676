package traffic

import (
	"cmp"
	"time"
)

// Kind is what a message is.
type Kind string

// The kinds of messages.
const (
	Request      Kind = "request"
	Notification Kind = "notification"
	Result       Kind = "result"
	Error        Kind = "error"
	// Invalid is a text that is no JSON-RPC message.
	Invalid Kind = "invalid"
	// HTTP is an HTTP response without a message whose status says that the request has failed. HTTP requests and
	// other responses without a message are not recorded.
	HTTP Kind = "http"
)

// Message is the envelope of one message, with nothing of its body. Texts that a peer has written are at most
// 128 bytes long and valid UTF-8; they may have characters that a terminal obeys.
type Message struct {
	// Seq numbers the messages of a Recorder, from 1 on and without gaps.
	Seq uint64 `json:"seq"`
	// Time is when the host has read the message, or was about to write it.
	Time time.Time `json:"time"`
	// Upstream is the key of the upstream at the other end, and empty for the messages of the clients of the host.
	Upstream string `json:"upstream,omitzero"`
	// Conn is the number of the connection, over Streamable HTTP that of the HTTP request.
	Conn uint64 `json:"conn"`
	// Session names what belongs together: the beginning of the id of a session of Streamable HTTP, or "c" and the
	// number of a connection of another transport. It is empty over Streamable HTTP without a session.
	Session string `json:"session,omitzero"`
	// FromClient is the direction: true for messages to the server of the hop. That is the host itself in
	// the hop of its clients.
	FromClient bool `json:"fromClient"`
	// Client is the name that the client has declared, if it is known. It is not verified.
	Client string `json:"client,omitzero"`
	// Principal is that of the client in the hop of the clients: local, anonymous or the subject. It is empty
	// in the hop of an upstream.
	Principal string `json:"principal,omitzero"`

	Kind Kind `json:"kind"`
	// Method is that of the message, or of the request that it answers. It is empty if that is not known.
	Method string `json:"method,omitzero"`
	// ID is the id of a request or response as JSON.
	ID string `json:"id,omitzero"`
	// Name is that of the tool or prompt of a request, or of the request that the message answers.
	Name string `json:"name,omitzero"`
	// Bytes is the size of the whole message.
	Bytes int `json:"bytes"`
	// Status is that of an HTTP response, and 0 for all else.
	Status int `json:"status,omitzero"`
	// Code is that of a JSON-RPC error.
	Code int `json:"code,omitzero"`
	// ToolError is true for the result of a tool that has failed.
	ToolError bool `json:"toolError,omitzero"`
	// Trace is the trace id of the W3C, 32 hexadecimal digits, if the message or its HTTP request has one.
	Trace string `json:"trace,omitzero"`

	// Request is the Seq of the request that this message answers, 0 if it was not seen.
	Request uint64 `json:"request,omitzero"`
	// Milliseconds is the time from the request to this answer.
	Milliseconds float64 `json:"ms,omitzero"`
	// Call is the Seq of the first request of the call that the message belongs to: its own for a request that
	// begins one, that of the first round for a later round, and that of the call for a question of its server.
	// It is 0 for notifications, and for a question of a connection with several calls at once.
	Call uint64 `json:"call,omitzero"`
	// Origin is the Call of the client for which the host has sent the request to an upstream that the message belongs
	// to, 0 if it was for none or that is not known. The recorder finds it by what the requests ask for: of equal
	// requests that are open at once, the first one that the host sends is for the first one that it has got.
	Origin uint64 `json:"origin,omitzero"`
	// Round is the round of the call, from 1 on. The call of a session has one round.
	Round int `json:"round,omitzero"`
	// Asks is true for a result that asks for input and so ends a round.
	Asks bool `json:"asks,omitzero"`
}

// Failed reports whether the message says that something has failed.
func (m *Message) Failed() bool {
	return m.Kind == Error || m.Kind == Invalid || m.Kind == HTTP || m.ToolError
}

// Group is what the messages of one call of a client have in common, those of the upstream too: Origin or, without
// one, Call.
func (m *Message) Group() uint64 { return cmp.Or(m.Origin, m.Call) }

// isAnswer reports whether the message answers a request.
func (m *Message) isAnswer() bool { return m.Kind == Result || m.Kind == Error }
