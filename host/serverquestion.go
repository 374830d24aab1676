package host

import (
	"encoding/json/jsontext"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// ServerQuestion is a question of a server that the user of the host answers, because the client of
// the call cannot show it, or because the user wants to see it first. Its texts are those of the
// server, with characters made visible that are not shown.
type ServerQuestion struct {
	// Server is the key of the server that asks.
	Server string
	// Principal is the caller in whose call the server asks, Client the program of the caller as it
	// declares itself, empty if it may be one of several, and Session the caller's session, if any.
	Principal mcp.Principal
	Client    string
	Session   string
	// Imitates is the key of another server that the texts of the question imitate, ImitatesHost if they imitate the host,
	// or empty.
	Imitates string
	// Elicit is a form or an address. It is nil if Sampling is set.
	Elicit *mcp.ElicitParams
	// Sampling is a request to a model.
	Sampling *mcp.CreateMessageParams
	// Review says what the user does with Sampling: answers in place of a model, or decides whether
	// the model of the client gets it, or whether the server gets Reply.
	Review Review
	// Reply is the answer of the client's model. It is nil unless Review is ReviewReply.
	Reply *mcp.CreateMessageResult
	// OnQuestion is called with the number of the question when a person is asked. It may
	// be nil.
	OnQuestion func(id string) `json:"-"`
}

// ImitatesHost is the key of the host among those that a text may imitate.
const ImitatesHost = "fondaco"

// Imitation names for people what ServerQuestion.Imitates means.
func Imitation(key string) string {
	if key == ImitatesHost {
		return "this host, Fondaco"
	}
	return fmt.Sprintf("the server %q", key)
}

// Review is the part of a sampling request that the user decides about.
type Review string

// The parts of a sampling request.
const (
	ReviewNone    Review = ""        // no model is asked: the user answers
	ReviewRequest Review = "request" // before the client's model gets it
	ReviewReply   Review = "reply"   // before the server gets what the model has answered
)

// Caller returns the owner of the question in the limits of its server: the caller or, if several clients
// can share its principal, its session.
func (q *ServerQuestion) Caller() string { return callerName(q.Principal, q.Session) }

// Texts returns the texts of the messages of a sampling request, in their order.
func (q *ServerQuestion) Texts() (texts []string) {
	if q.Sampling == nil {
		return nil
	}
	for _, m := range q.Sampling.Messages {
		for _, content := range m.Content {
			if text, ok := content.(mcp.TextContent); ok {
				texts = append(texts, text.Text)
			}
		}
	}
	return texts
}

// ServerAnswer is the answer of the user to a ServerQuestion.
type ServerAnswer struct {
	// Action says whether the user accepts, declines, or dismisses the question without a choice.
	Action mcp.ElicitAction `json:"action"`
	// Content has the fields of an accepted form.
	Content jsontext.Value `json:"content,omitzero"`
	// Text is the answer to a sampling request, or replaces that of the model. Nil leaves the
	// model's answer as it is.
	Text *string `json:"text,omitzero"`
	// SystemPrompt and Texts replace the system prompt of a sampling request and the texts of its
	// messages, in their order. Nil leaves them as they are.
	SystemPrompt *string  `json:"systemPrompt,omitzero"`
	Texts        []string `json:"texts,omitzero"`
}

// UnansweredError is the error of a question of a server that no person has answered.
type UnansweredError struct {
	// Server is the key of the server that has asked.
	Server string
	// Reason says why nobody has answered.
	Reason string
}

// Error returns a text for the server, and for the model that has made the call.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the server %q asks the user, and nobody has answered in Fondaco: %s; call again when a person can answer there (its terminal, inbox or notification)", e.Server, e.Reason)
}

// callerName returns the owner of the questions of a caller in limits.
func callerName(p mcp.Principal, session string) string {
	if p.Authenticated() {
		return p.String()
	}
	return p.String() + " " + session
}
