package mcpmodel

import "regexp"

// rules are what an API takes. The table holds facts, with the page that states each; the
// code that applies them knows no API.
type rules struct {
	name string

	// Tools.
	toolName       *regexp.Regexp
	toolNameWanted string // toolName in words
	tools          int    // largest number of tools in a request; 0: no limit is documented
	description    int    // largest number of characters of a tool's description; 0: none

	// Schemas. A keyword that is missing here is not taken.
	keywords     []string
	refusesOther bool     // other keywords are an error; otherwise they are ignored
	formats      []string // values of format; nil: all
	enumKinds    string   // kinds of JSON values in enum, as in jsontext.Kind
	typeLists    bool     // type may list several types besides null
	references   bool     // $ref is taken; it is inlined all the same
	propertyName *regexp.Regexp

	// Limits of a schema; 0: none is documented.
	depth      int // levels of objects and arrays
	properties int // properties in all
	enumValues int // values of all enums
	stringLen  int // characters of names of properties and values of enums in all
	longEnum   int // characters of the values of one enum with more than longEnumValues strings

	// Strict mode.
	strict         *rules // nil: there is none
	closed         bool   // objects must have additionalProperties: false
	allRequired    bool   // properties must be required; optional ones may be null
	minItemsUpTo1  bool   // minItems must be 0 or 1
	strictTools    int    // largest number of strict tools in a request
	optionalParams int    // largest number of optional properties of all strict tools
	unionParams    int    // largest number of unions of all strict tools

	// Media, by MIME type.
	userMedia   []string // in a message of the user
	resultMedia []string // in the result of a tool
	mediaBytes  int      // largest number of bytes of one
}

var (
	jsonSchemaKeywords = []string{
		"type", "title", "description", "enum", "const", "default", "examples", "format", "pattern",
		"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"items", "minItems", "maxItems", "uniqueItems",
		"properties", "required", "additionalProperties", "minProperties", "maxProperties", "anyOf",
	}
	webImages = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
)

// anthropic is the Messages API.
//
//   - Names, input_schema: platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
//     (older documentation: names of 64 characters) and the error "input_schema does not support oneOf,
//     allOf, or anyOf at the top level".
//   - References and names of properties: platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes,
//     which states what the API rejects in the input_schema of a custom tool.
//   - Results of tools: platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls.
//   - Images and their size: platform.claude.com/docs/en/build-with-claude/vision.
var anthropic = rules{
	name:           "Anthropic Messages",
	toolName:       regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`),
	toolNameWanted: "1 to 128 of a-z, A-Z, 0-9, '_' and '-'",
	keywords:       append([]string{"prefixItems"}, jsonSchemaKeywords...),
	enumKinds:      `"0tfn{[`,
	typeLists:      true,
	propertyName:   regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`),
	strict:         &anthropicStrict,
	userMedia:      append([]string{"application/pdf"}, webImages...),
	resultMedia:    append([]string{"application/pdf"}, webImages...),
	mediaBytes:     5 << 20,
}

// anthropicStrict is strict tool use: platform.claude.com/docs/en/build-with-claude/structured-outputs,
// sections JSON Schema limitations and Schema complexity limits.
var anthropicStrict = rules{
	name:           "Anthropic Messages, strict",
	references:     true,
	keywords:       []string{"type", "title", "description", "enum", "const", "default", "format", "items", "minItems", "properties", "required", "additionalProperties", "anyOf"},
	refusesOther:   true,
	formats:        []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
	enumKinds:      `"0tfn`,
	propertyName:   regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`),
	closed:         true,
	minItemsUpTo1:  true,
	strictTools:    20,
	optionalParams: 24,
	unionParams:    16,
}

// openAIChat is the Chat Completions API.
//
//   - Names, number of tools: platform.openai.com/docs/api-reference/chat/create.
//   - Length of descriptions: learn.microsoft.com/azure/ai-foundry/openai/how-to/function-calling
//     and the error "string too long. Expected a string with maximum length 1024".
//   - Root of the schema: the errors "schema must have type 'object' and not have
//     'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level" and "array schema missing items".
//   - Media: platform.openai.com/docs/guides/images-vision, /docs/guides/audio, /docs/guides/pdf-files.
//     Messages with the role tool take text only.
var openAIChat = rules{
	name:           "OpenAI Chat Completions",
	references:     true,
	toolName:       regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	toolNameWanted: "1 to 64 of a-z, A-Z, 0-9, '_' and '-'",
	tools:          128,
	description:    1024,
	keywords:       jsonSchemaKeywords,
	enumKinds:      `"0tfn{[`,
	typeLists:      true,
	strict:         &openAIStrict,
	userMedia:      append([]string{"application/pdf", "audio/wav", "audio/mpeg"}, webImages...),
	mediaBytes:     20 << 20,
}

// openAIResponses is the Responses API: platform.openai.com/docs/api-reference/responses/create.
// The output of a function call may have images and files. The number of tools is that of Chat
// Completions; the page documents none.
var openAIResponses = rules{
	name:           "OpenAI Responses",
	references:     true,
	toolName:       openAIChat.toolName,
	toolNameWanted: openAIChat.toolNameWanted,
	tools:          128,
	keywords:       jsonSchemaKeywords,
	enumKinds:      `"0tfn{[`,
	typeLists:      true,
	strict:         &openAIStrict,
	userMedia:      append([]string{"application/pdf"}, webImages...),
	resultMedia:    append([]string{"application/pdf"}, webImages...),
	mediaBytes:     20 << 20,
}

// openAIStrict is strict mode: developers.openai.com/api/docs/guides/structured-outputs, section
// Supported schemas.
var openAIStrict = rules{
	name:       "OpenAI, strict",
	references: true,
	keywords: []string{
		"type", "title", "description", "enum", "const", "format", "pattern",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"items", "minItems", "maxItems", "properties", "required", "additionalProperties", "anyOf",
	},
	refusesOther: true,
	formats:      []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	enumKinds:    `"0tfn`,
	closed:       true,
	allRequired:  true,
	depth:        10,
	properties:   5000,
	enumValues:   1000,
	stringLen:    120_000,
	longEnum:     15_000,
}

// gemini is generateContent.
//
//   - Names: ai.google.dev/api/caching#FunctionDeclaration and the error "Must start with a
//     letter or an underscore". Newer documentation allows 128 characters, deployed versions 64.
//   - Number of tools: docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling,
//     the limit of Vertex AI. ai.google.dev documents none.
//   - Keywords of parametersJsonSchema: the list of ai.google.dev/api/generate-content#GenerationConfig,
//     field responseJsonSchema.
//   - Media: ai.google.dev/gemini-api/docs/image-understanding, /audio, /document-processing;
//     in results of functions ai.google.dev/gemini-api/docs/function-calling#multimodal.
var gemini = rules{
	name:           "Gemini generateContent",
	references:     true,
	toolName:       regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`),
	toolNameWanted: "1 to 64 of a-z, A-Z, 0-9, '_', '.', ':' and '-', beginning with a letter or '_'",
	tools:          512,
	keywords: []string{
		"type", "title", "description", "enum", "format", "items", "prefixItems", "minItems", "maxItems",
		"minimum", "maximum", "properties", "required", "additionalProperties", "anyOf",
	},
	formats:     []string{"date-time", "date", "time"},
	enumKinds:   `"0`,
	userMedia:   []string{"application/pdf", "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"},
	resultMedia: []string{"application/pdf", "image/png", "image/jpeg", "image/webp"},
	mediaBytes:  20 << 20,
}

// Bounds of this package, which hold for every API.
const (
	maxSchemaText  = 256 << 10 // bytes of a schema as it comes
	maxExpanded    = 4 << 20   // bytes that are read of a schema while it is expanded
	maxSubschemas  = 4000      // subschemas after the expansion
	maxSchemaDepth = 40        // levels after the expansion
	maxLoweredText = 256 << 10 // bytes of a lowered schema
)
