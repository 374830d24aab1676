package mcp

// CompleteParams are the params of completion/complete.
//
// Spec: 2026-07-28 server/utilities/completion
type CompleteParams struct {
	Ref      Reference        `json:"ref"`
	Argument CompleteArgument `json:"argument"`
	// Context holds the arguments that are already known, or is nil.
	Context *CompleteContext `json:"context,omitzero"`
	Meta    Meta             `json:"_meta,omitempty"`
}

// CompleteArgument is the argument that is being typed.
type CompleteArgument struct {
	Name string `json:"name"`
	// Value is the text typed so far.
	Value string `json:"value"`
}

// CompleteContext holds the arguments that the user has chosen already.
type CompleteContext struct {
	Arguments map[string]string `json:"arguments,omitzero"`
}

// Reference names the prompt or the resource template whose argument is to be
// completed. PromptRef and ResourceRef construct one.
type Reference struct {
	Type ReferenceType `json:"type"`
	// Name is the name of the prompt.
	Name string `json:"name,omitzero"`
	// Title is the title of the prompt, or empty.
	Title string `json:"title,omitzero"`
	// URI is the URI or the URI template of the resource.
	URI string `json:"uri,omitzero"`
}

// ReferenceType is the kind of a Reference.
type ReferenceType string

// The types of reference.
const (
	RefPrompt   ReferenceType = "ref/prompt"
	RefResource ReferenceType = "ref/resource"
)

// PromptRef refers to the prompt of that name.
func PromptRef(name string) Reference { return Reference{Type: RefPrompt, Name: name} }

// ResourceRef refers to a resource by its URI template or its URI.
func ResourceRef(uri string) Reference { return Reference{Type: RefResource, URI: uri} }

// CompleteResult is the result of completion/complete.
type CompleteResult struct {
	ResultBase
	Completion Completion `json:"completion"`
}

// Completion holds the candidates for the value of an argument.
type Completion struct {
	// Values are the best candidates, 100 at most.
	Values []string `json:"values"`
	// Total is the number of all candidates, or nil when it is unknown.
	Total *int64 `json:"total,omitzero"`
	// HasMore reports whether there are more candidates than Values.
	HasMore bool `json:"hasMore,omitzero"`
}
