package mcp

// MissingCapabilityData is the data of a CodeMissingCapability error.
//
// Spec: 2026-07-28 schema#missingrequiredclientcapabilityerror
type MissingCapabilityData struct {
	// RequiredCapabilities are those that the client would have to declare.
	RequiredCapabilities ClientCapabilities `json:"requiredCapabilities"`
}

// UnsupportedVersionData is the data of a CodeUnsupportedVersion error.
//
// Spec: 2026-07-28 schema#unsupportedprotocolversionerror
type UnsupportedVersionData struct {
	Supported []string `json:"supported"`
	Requested string   `json:"requested"`
}

// ResourceNotFoundData is the data of a CodeResourceNotFound error.
//
// Spec: 2025-11-25 server/resources#error-handling
type ResourceNotFoundData struct {
	URI string `json:"uri"`
}

// URLElicitationRequiredData is the data of a CodeURLElicitationRequired error
// of 2025-11-25.
//
// Spec: 2025-11-25 client/elicitation#url-elicitation-required-error
type URLElicitationRequiredData struct {
	// Elicitations are in mode ElicitURL, each with its ElicitationID.
	Elicitations []ElicitParams `json:"elicitations"`
}

// InsufficientScopeData is the data of a CodeInsufficientScope error: what the
// challenge says over HTTP, for those who get no header, such as the items of a
// batch.
type InsufficientScopeData struct {
	// RequiredScopes are all that the request needs.
	RequiredScopes []string `json:"requiredScopes"`
}

// RetryLaterData is the data of CodeRateLimited and CodeOverloaded errors.
type RetryLaterData struct {
	// RetryAfterMs is for how many milliseconds to wait.
	RetryAfterMs int64 `json:"retryAfterMs"`
}
