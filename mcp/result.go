package mcp

// Result is implemented by every result type of this package: a pointer to a
// struct that embeds ResultBase.
type Result interface {
	// Base returns the members that all results share. They can be read and
	// set.
	Base() *ResultBase
}

// ResultBase holds the members that every result may have.
//
// Spec: 2026-07-28 basic#result-responses
type ResultBase struct {
	// ResultType is the type of the result. Results of the session era and
	// answers to input requests have none.
	ResultType ResultType `json:"resultType,omitzero"`
	// Meta is the metadata of the result.
	Meta Meta `json:"_meta,omitempty"`
}

// Base returns b, which makes every type that embeds a ResultBase a Result.
func (b *ResultBase) Base() *ResultBase { return b }

// ResultType is the type of a result. Extensions define further types.
type ResultType string

// The result types of the core protocol. An absent type means ResultComplete.
const (
	// ResultComplete: the request is done and the result is final.
	ResultComplete ResultType = "complete"
	// ResultInputRequired: the result is an InputRequiredResult.
	ResultInputRequired ResultType = "input_required"
)

// EmptyResult is the result of requests that return no data.
type EmptyResult struct {
	ResultBase
}

// EmptyParams are the params of the requests and notifications that carry
// nothing but metadata: server/discover, ping, roots/list,
// notifications/initialized and the list_changed notifications.
type EmptyParams struct {
	Meta Meta `json:"_meta,omitempty"`
}
