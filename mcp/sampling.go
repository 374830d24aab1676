package mcp

import "encoding/json/jsontext"

// CreateMessageParams are the params of sampling/createMessage, which asks for
// a message of the client's model.
//
// Spec: 2026-07-28 client/sampling
//
// Deprecated: Sampling is deprecated by SEP-2577. The first revision released
// on or after 2027-07-28 may remove it. Use the interface of a model provider
// instead.
type CreateMessageParams struct {
	Messages []SamplingMessage `json:"messages"`
	// MaxTokens is the maximum length of the answer.
	MaxTokens        int64             `json:"maxTokens"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitzero"`
	// IncludeContext is IncludeNone when absent.
	IncludeContext IncludeContext `json:"includeContext,omitzero"`
	Temperature    *float64       `json:"temperature,omitzero"`
	StopSequences  []string       `json:"stopSequences,omitzero"`
	// Tools are the tools that the model may use. They need the client
	// capability sampling.tools.
	Tools []Tool `json:"tools,omitzero"`
	// ToolChoice is ToolChoiceAuto when nil.
	ToolChoice *ToolChoice `json:"toolChoice,omitzero"`
	// Metadata is a JSON object for the model's provider.
	Metadata jsontext.Value `json:"metadata,omitzero"`
	// Task requests that a task is created. Only 2025-11-25 has it.
	Task *TaskMetadata `json:"task,omitzero"`
	Meta Meta          `json:"_meta,omitempty"`
}

// SamplingMessage is one message to or from a model.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type SamplingMessage struct {
	Role    Role     `json:"role"`
	Content Contents `json:"content"`
	Meta    Meta     `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// CreateMessageResult is a message of the client's model.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type CreateMessageResult struct {
	ResultBase
	Role    Role     `json:"role"`
	Content Contents `json:"content"`
	// Model is the name of the model that answered.
	Model string `json:"model"`
	// StopReason says why the model stopped, if known. The set is open.
	StopReason StopReason `json:"stopReason,omitzero"`
}

// ModelPreferences help a client to choose a model. Priorities range from 0,
// unimportant, to 1, most important; nil means unspecified. Hints take
// precedence over priorities.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type ModelPreferences struct {
	// Hints are evaluated in order.
	Hints                []ModelHint `json:"hints,omitzero"`
	CostPriority         *float64    `json:"costPriority,omitzero"`
	SpeedPriority        *float64    `json:"speedPriority,omitzero"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitzero"`
}

// ModelHint names a model.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type ModelHint struct {
	// Name is a substring of the name of a model or model family.
	Name string `json:"name,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// IncludeContext selects the servers whose context a client should add to a
// prompt.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type IncludeContext string

// The values of IncludeContext.
//
// Deprecated: IncludeThisServer and IncludeAllServers are deprecated by
// SEP-2596, and follow Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove. Leave IncludeContext empty instead.
const (
	IncludeNone       IncludeContext = "none"
	IncludeThisServer IncludeContext = "thisServer"
	IncludeAllServers IncludeContext = "allServers"
)

// ToolChoice controls how a model uses tools.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type ToolChoice struct {
	// Mode is ToolChoiceAuto when absent.
	Mode ToolChoiceMode `json:"mode,omitzero"`
}

// ToolChoiceMode says whether a model decides about tools, must use one, or
// must not.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type ToolChoiceMode string

// The modes of tool choice: the model decides, must use a tool, or must not.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
const (
	ToolChoiceAuto     ToolChoiceMode = "auto"
	ToolChoiceRequired ToolChoiceMode = "required"
	ToolChoiceNone     ToolChoiceMode = "none"
)

// StopReason says why a model stopped.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type StopReason string

// The stop reasons that the protocol defines: the end of the turn, a stop
// sequence, the maximum number of tokens, the use of a tool.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
const (
	StopEndTurn      StopReason = "endTurn"
	StopStopSequence StopReason = "stopSequence"
	StopMaxTokens    StopReason = "maxTokens"
	StopToolUse      StopReason = "toolUse"
)
