package mcpmodel

// API is the format of a model API. Its methods may be called concurrently.
type API struct {
	rules *rules
	wire  wire
	opts  Options
}

// The formats of model APIs.
var (
	// Anthropic is the Messages API, version 2023-06-01.
	Anthropic = &API{rules: &anthropic, wire: anthropicWire{}}
	// OpenAIChat is the Chat Completions API of OpenAI, which other providers offer as well.
	OpenAIChat = &API{rules: &openAIChat, wire: chatWire{}}
	// OpenAIResponses is the Responses API of OpenAI.
	OpenAIResponses = &API{rules: &openAIResponses, wire: responsesWire{}}
	// Gemini is the method generateContent of the Gemini API, version v1beta.
	Gemini = &API{rules: &gemini, wire: geminiWire{}}
)

// Options change what an API converts. The zero value is the default.
type Options struct {
	// Strict asks the API to enforce the schemas of tools. A tool whose schema strict mode
	// cannot express is sent without it: one with objects of any property names, values of
	// any type or recursion, or over a limit of the API. Gemini has no strict tools, and
	// sampling requests do not use strict mode.
	//
	// In the strict mode of OpenAI a model sends null for an optional property. ToolSet.Turn
	// removes such nulls from the arguments.
	Strict bool
	// MaxText is the largest number of bytes of text of one tool result or message that is
	// sent to the model. The rest is cut, and the text says so. 0 and less mean 256 KiB.
	MaxText int
}

// With returns an API with other options. It does not change a.
func (a *API) With(opts Options) *API {
	changed := *a
	changed.opts = opts
	return &changed
}

// String returns the name of the API, such as "Anthropic Messages".
func (a *API) String() string { return a.rules.name }

func (a *API) maxText() int {
	if a.opts.MaxText <= 0 {
		return 256 << 10
	}
	return a.opts.MaxText
}

// strict returns the rules of the strict mode, or nil if it is off or the API has none.
func (a *API) strict() *rules {
	if !a.opts.Strict {
		return nil
	}
	return a.rules.strict
}
