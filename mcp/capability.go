package mcp

import "encoding/json/jsontext"

// Capability is a JSON object that declares a capability by its presence. Nil
// means not declared.
type Capability struct {
	// Extra holds the members of the object. No revision defines any so far.
	Extra jsontext.Value `json:",embed"`
}

// ClientCapabilities are what a client can do for a server. A nil field is a
// capability that was not declared.
//
// Spec: 2026-07-28 schema#clientcapabilities
type ClientCapabilities struct {
	// Elicitation declares that the client can ask its user for input.
	Elicitation *ElicitationCapability `json:"elicitation,omitzero"`
	// Sampling declares that the client gives access to a model.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	Sampling *SamplingCapability `json:"sampling,omitzero"`
	// Roots declares that the client lists the directories and files that a
	// server may work on.
	//
	// Deprecated: part of Roots (SEP-2577), which the first revision released on
	// or after 2027-07-28 may remove.
	Roots *RootsCapability `json:"roots,omitzero"`
	// Tasks belongs to 2025-11-25. Later tasks are an extension.
	Tasks *TasksCapability `json:"tasks,omitzero"`
	// Extensions holds a settings object for each extension, under its identifier.
	Extensions map[string]jsontext.Value `json:"extensions,omitzero"`
	// Experimental holds objects for things outside the protocol.
	Experimental map[string]jsontext.Value `json:"experimental,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ServerCapabilities are what a server offers. A nil field is a capability
// that was not declared.
//
// Spec: 2026-07-28 schema#servercapabilities
type ServerCapabilities struct {
	Tools       *ListCapability      `json:"tools,omitzero"`
	Resources   *ResourcesCapability `json:"resources,omitzero"`
	Prompts     *ListCapability      `json:"prompts,omitzero"`
	Completions *Capability          `json:"completions,omitzero"`
	// Logging declares that the server sends log messages.
	//
	// Deprecated: part of Logging (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	Logging *Capability `json:"logging,omitzero"`
	// Tasks belongs to 2025-11-25. Later tasks are an extension.
	Tasks *TasksCapability `json:"tasks,omitzero"`
	// Extensions holds a settings object for each extension, under its identifier.
	Extensions map[string]jsontext.Value `json:"extensions,omitzero"`
	// Experimental holds objects for things outside the protocol.
	Experimental map[string]jsontext.Value `json:"experimental,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ListCapability declares a list of features: tools or prompts.
type ListCapability struct {
	// ListChanged promises a notification when the list changes.
	ListChanged bool `json:"listChanged,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ResourcesCapability declares resources.
type ResourcesCapability struct {
	// ListChanged promises a notification when the list changes.
	ListChanged bool `json:"listChanged,omitzero"`
	// Subscribe promises notifications when a resource itself changes.
	Subscribe bool `json:"subscribe,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ElicitationCapability declares the ways in which a client can ask its user.
// The empty object, the only value in 2025-06-18, means form mode.
//
// Spec: 2026-07-28 client/elicitation#capabilities
type ElicitationCapability struct {
	Form *Capability `json:"form,omitzero"`
	URL  *Capability `json:"url,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// CanForm reports whether the client can show a form. It is false for nil.
func (c *ElicitationCapability) CanForm() bool {
	return c != nil && (c.Form != nil || c.URL == nil)
}

// CanURL reports whether the client can send its user to a URL. It is false
// for nil.
func (c *ElicitationCapability) CanURL() bool { return c != nil && c.URL != nil }

// SamplingCapability declares that a client gives access to a model.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type SamplingCapability struct {
	// Context declares support of includeContext.
	Context *Capability `json:"context,omitzero"`
	// Tools declares support of tools and toolChoice.
	Tools *Capability `json:"tools,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// RootsCapability declares that a client answers roots/list.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
type RootsCapability struct {
	// ListChanged promises a notification when the roots change. It belongs to
	// the session era.
	ListChanged bool `json:"listChanged,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}
