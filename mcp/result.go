package mcp

// Result is what every result of this package is: a pointer to a struct that
// embeds ResultBase.
type Result interface {
	// Base returns the members that all results share, to read or to set.
	Base() *ResultBase
}

// ResultBase holds the members that every result may have.
//
// Spec: 2026-07-28 basic#result-responses
type ResultBase struct {
	// ResultType tells how to read the result. Results of the session era and
	// answers to input requests do not carry one.
	ResultType ResultType `json:"resultType,omitzero"`
	// Meta is the metadata of the result.
	Meta Meta `json:"_meta,omitempty"`
}

// Base returns b, which makes every type that embeds a ResultBase a Result.
func (b *ResultBase) Base() *ResultBase { return b }

// ResultType tells what a result is. The set is open: extensions add to it.
type ResultType string

// The result types of the core protocol. An absent type means ResultComplete.
const (
	// ResultComplete: the request is done and the result is final.
	ResultComplete ResultType = "complete"
	// ResultInputRequired: the result is an InputRequiredResult.
	ResultInputRequired ResultType = "input_required"
)

// EmptyResult is the result of requests that are answered by their success.
type EmptyResult struct {
	ResultBase
}

// EmptyParams are the params of the requests and notifications that say
// nothing besides metadata: server/discover, ping, roots/list,
// notifications/initialized and the list_changed notifications.
type EmptyParams struct {
	Meta Meta `json:"_meta,omitempty"`
}
