package mcp

import "encoding/json/jsontext"

// ElicitParams are the params of elicitation/create, which asks the user of a
// client by a form or a URL.
//
// Spec: 2026-07-28 client/elicitation
type ElicitParams struct {
	// Mode is form or URL. An absent mode means ElicitForm.
	Mode ElicitMode `json:"mode,omitzero"`
	// Message tells the user what is asked, and why.
	Message string `json:"message"`
	// RequestedSchema is the schema of the form; ElicitSchema encodes and
	// decodes it. Nil when Mode is ElicitURL.
	RequestedSchema jsontext.Value `json:"requestedSchema,omitzero"`
	// URL is the URL to open. Empty unless Mode is ElicitURL.
	URL string `json:"url,omitzero"`
	// ElicitationID identifies a URL elicitation in 2025-11-25.
	ElicitationID string `json:"elicitationId,omitzero"`
	// Task requests that a task is created. Only 2025-11-25 has it.
	Task *TaskMetadata `json:"task,omitzero"`
	Meta Meta          `json:"_meta,omitempty"`
}

// ElicitMode is a mode of elicitation.
type ElicitMode string

// The modes of elicitation.
const (
	// ElicitForm shows a form in the client. It must not ask for secrets.
	ElicitForm ElicitMode = "form"
	// ElicitURL sends the user to a URL. The client does not see what the user
	// enters there.
	ElicitURL ElicitMode = "url"
)

// ElicitResult is the answer of a user.
type ElicitResult struct {
	ResultBase
	Action ElicitAction `json:"action"`
	// Content is a JSON object that conforms to the requested schema. It is nil
	// unless a form was accepted.
	Content jsontext.Value `json:"content,omitzero"`
}

// ElicitAction is how a user answered.
type ElicitAction string

// The actions of a user.
const (
	// ElicitAccept: the user submitted the form or agreed to open the URL.
	ElicitAccept ElicitAction = "accept"
	// ElicitDecline: the user declined explicitly.
	ElicitDecline ElicitAction = "decline"
	// ElicitCancel: the user dismissed the question without a choice.
	ElicitCancel ElicitAction = "cancel"
)

// ElicitationCompleteParams are the params of
// notifications/elicitation/complete of 2025-11-25.
type ElicitationCompleteParams struct {
	ElicitationID string `json:"elicitationId"`
	Meta          Meta   `json:"_meta,omitempty"`
}
