package mcp

import "encoding/json/jsontext"

// CreateMessageParams ask a client for a message of its model.
//
// Spec: 2026-07-28 client/sampling
//
// Deprecated: Sampling is deprecated by SEP-2577. The first revision released
// on or after 2027-07-28 may remove it. Use the interface of a model provider
// instead.
type CreateMessageParams struct {
	Messages []SamplingMessage `json:"messages"`
	// MaxTokens bounds the length of the answer.
	MaxTokens        int64             `json:"maxTokens"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitzero"`
	// IncludeContext is IncludeNone when absent.
	IncludeContext IncludeContext `json:"includeContext,omitzero"`
	Temperature    *float64       `json:"temperature,omitzero"`
	StopSequences  []string       `json:"stopSequences,omitzero"`
	// Tools may be used by the model; the client must have declared that.
	Tools []Tool `json:"tools,omitzero"`
	// ToolChoice is ToolChoiceAuto when nil.
	ToolChoice *ToolChoice `json:"toolChoice,omitzero"`
	// Metadata is a JSON object for the model's provider.
	Metadata jsontext.Value `json:"metadata,omitzero"`
	// Task asks for a task. It belongs to 2025-11-25.
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

// ModelPreferences advise a client on the choice of a model. Priorities run
// from 0, unimportant, to 1, most important; nil says nothing. Hints go before
// priorities.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type ModelPreferences struct {
	// Hints are tried in order.
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
	// Name is a part of the name of a model or of a family of models.
	Name string `json:"name,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// IncludeContext says whose context a client should add to a prompt.
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

// ToolChoiceMode is a degree of freedom in the use of tools.
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

// The stop reasons that the protocol names: the end of the turn, a stop
// sequence, the bound on tokens, the wish to use a tool.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
const (
	StopEndTurn      StopReason = "endTurn"
	StopStopSequence StopReason = "stopSequence"
	StopMaxTokens    StopReason = "maxTokens"
	StopToolUse      StopReason = "toolUse"
)
