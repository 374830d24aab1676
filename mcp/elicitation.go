package mcp

import "encoding/json/jsontext"

// ElicitParams ask the user of a client, by a form or by a URL to visit.
//
// Spec: 2026-07-28 client/elicitation
type ElicitParams struct {
	// Mode says which. An absent mode means ElicitForm.
	Mode ElicitMode `json:"mode,omitzero"`
	// Message tells the user what is asked, and why.
	Message string `json:"message"`
	// RequestedSchema is the schema of the form; ElicitSchema can make and read
	// it. Nil when Mode is ElicitURL.
	RequestedSchema jsontext.Value `json:"requestedSchema,omitzero"`
	// URL is the URL to visit.
	URL string `json:"url,omitzero"`
	// ElicitationID identifies a visit in 2025-11-25.
	ElicitationID string `json:"elicitationId,omitzero"`
	// Task asks for a task. It belongs to 2025-11-25.
	Task *TaskMetadata `json:"task,omitzero"`
	Meta Meta          `json:"_meta,omitempty"`
}

// ElicitMode is a way to ask a user.
type ElicitMode string

// The modes of elicitation.
const (
	// ElicitForm asks in the client. It must not ask for secrets.
	ElicitForm ElicitMode = "form"
	// ElicitURL sends the user to a URL, outside of the client's sight.
	ElicitURL ElicitMode = "url"
)

// ElicitResult is what a user answered.
type ElicitResult struct {
	ResultBase
	Action ElicitAction `json:"action"`
	// Content is a JSON object that conforms to the requested schema. It is nil
	// unless a form was accepted.
	Content jsontext.Value `json:"content,omitzero"`
}

// ElicitAction is what a user did with a question.
type ElicitAction string

// The actions of a user.
const (
	// ElicitAccept: the user submitted the form or agreed to the visit.
	ElicitAccept ElicitAction = "accept"
	// ElicitDecline: the user said no.
	ElicitDecline ElicitAction = "decline"
	// ElicitCancel: the user went away without a choice.
	ElicitCancel ElicitAction = "cancel"
)

// ElicitationCompleteParams are the params of
// notifications/elicitation/complete, which belongs to 2025-11-25.
type ElicitationCompleteParams struct {
	ElicitationID string `json:"elicitationId"`
	Meta          Meta   `json:"_meta,omitempty"`
}
