package mcp

// MissingCapabilityData is the data of a CodeMissingCapability error.
//
// Spec: 2026-07-28 schema#missingrequiredclientcapabilityerror
type MissingCapabilityData struct {
	// RequiredCapabilities are the capabilities that the client must declare.
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

// InsufficientScopeData is the data of a CodeInsufficientScope error. It
// repeats the HTTP challenge for responses without a header of their own, such
// as the items of a batch.
type InsufficientScopeData struct {
	// RequiredScopes are all scopes that the request needs.
	RequiredScopes []string `json:"requiredScopes"`
}

// RetryLaterData is the data of CodeRateLimited and CodeOverloaded errors.
type RetryLaterData struct {
	// RetryAfterMs is the time to wait, in milliseconds.
	RetryAfterMs int64 `json:"retryAfterMs"`
}
