package wire

import (
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// A fact is a property of a revision.
type fact func(*dialect.Facts) bool

// A member describes what the Go type of one member does not say. Zero fields mean what the
// type says.
type member struct {
	exists   fact // whether the revision has the member; nil is always
	required fact // whether the revision requires it
	form     form // of its value
}

func sessions(f *dialect.Facts) bool  { return f.Era == dialect.SessionEra }
func stateless(f *dialect.Facts) bool { return f.Era == dialect.StatelessEra }

func always(*dialect.Facts) bool { return true }
func never(*dialect.Facts) bool  { return false }

func titles(f *dialect.Facts) bool        { return f.Titles }
func icons(f *dialect.Facts) bool         { return f.Icons }
func listedMeta(f *dialect.Facts) bool    { return f.MetaOnListed }
func tasks(f *dialect.Facts) bool         { return f.TaskSupport }
func envelope(f *dialect.Facts) bool      { return f.Envelope }
func samplingTools(f *dialect.Facts) bool { return f.SamplingTools }
func elicitURL(f *dialect.Facts) bool     { return f.ElicitURL }
func richForms(f *dialect.Facts) bool     { return f.RichForms }
func structured(f *dialect.Facts) bool    { return f.Structured != dialect.NoStructured }

func elicits(f *dialect.Facts) bool {
	return f.ServerRequests[mcp.MethodElicit] || f.Era == dialect.StatelessEra
}

// members has the members by type and name. A member of an embedded type is looked up
// under the outer type first.
var members map[string]member

func init() {
	members = map[string]member{
		"Annotations.lastModified": {exists: func(f *dialect.Facts) bool { return f.LastModified }},
		"Annotations.priority":     {form: fraction},

		"AudioContent.data":      {form: base64},
		"AudioContent._meta":     {exists: listedMeta},
		"EmbeddedResource._meta": {exists: listedMeta},
		"ImageContent.data":      {form: base64},
		"ImageContent._meta":     {exists: listedMeta},
		"TextContent._meta":      {exists: listedMeta},
		"ToolUseContent.input":   {form: object},

		"ToolResultContent.structuredContent": {form: structuredContent},
		"CallToolResult.structuredContent":    {exists: structured, form: structuredContent},

		"CallToolParams.arguments": {form: object},
		"CallToolParams.task":      {exists: tasks},

		"Caching.ttlMs":      {exists: envelope, required: always, form: natural},
		"Caching.cacheScope": {exists: envelope, required: always},

		// The id is optional in revisions in which another request cancels tasks.
		"CancelledParams.requestId": {required: func(f *dialect.Facts) bool { return !f.TaskSupport }, form: requestID},

		"ClientCapabilities.elicitation":  {exists: elicits},
		"ClientCapabilities.tasks":        {exists: tasks, form: takes("elicitation", "sampling")},
		"ClientCapabilities.extensions":   {form: extensions},
		"ClientCapabilities.experimental": {form: objects},
		"ElicitationCapability.form":      {exists: elicitURL},
		"ElicitationCapability.url":       {exists: elicitURL},
		"SamplingCapability.context":      {exists: samplingTools},
		"SamplingCapability.tools":        {exists: samplingTools},
		"RootsCapability.listChanged":     {exists: sessions},

		"ServerCapabilities.completions":  {exists: func(f *dialect.Facts) bool { return f.Completions }},
		"ServerCapabilities.tasks":        {exists: tasks, form: takes("tools")},
		"ServerCapabilities.extensions":   {form: extensions},
		"ServerCapabilities.experimental": {form: objects},

		"CompleteParams.context": {exists: func(f *dialect.Facts) bool { return f.Context }},
		"Completion.values":      {form: completionValues},

		"CreateMessageParams.metadata":   {form: object},
		"CreateMessageParams.task":       {exists: tasks},
		"CreateMessageParams.tools":      {exists: samplingTools},
		"CreateMessageParams.toolChoice": {exists: samplingTools},
		"CreateMessageResult.content":    {form: samplingContent},
		"CreateMessageResult.resultType": {exists: never},
		"CreateMessageResult._meta":      {form: object},

		// The revision does not define the metadata of these.
		"ElicitationCompleteParams._meta": {form: anything},
		"TaskParams._meta":                {form: anything},

		"ElicitResult.content":    {form: answers},
		"ElicitResult.resultType": {exists: never},
		"ElicitResult._meta":      {exists: sessions},

		"GetPromptParams.arguments": {form: texts},

		"Icon.src": {form: uri},

		"Implementation.title":       {exists: titles},
		"Implementation.description": {exists: icons},
		"Implementation.websiteUrl":  {exists: icons, form: uri},
		"Implementation.icons":       {exists: icons},

		"InputRequiredResult.inputRequests":  {form: inputRequests},
		"InputResponseParams.inputResponses": {exists: envelope, form: inputResponses},
		"InputResponseParams.requestState":   {exists: envelope},

		"ListenResult._meta": {required: always, form: subscriptionMeta},

		"ListRootsResult.resultType": {exists: never},
		"ListRootsResult._meta":      {exists: sessions},

		"LoggingMessageParams.data": {form: anything},

		"ModelPreferences.costPriority":         {form: fraction},
		"ModelPreferences.intelligencePriority": {form: fraction},
		"ModelPreferences.speedPriority":        {form: fraction},

		"ProgressParams.message": {exists: func(f *dialect.Facts) bool { return f.ProgressMessage }},

		"Prompt.title":         {exists: titles},
		"Prompt.icons":         {exists: icons},
		"Prompt._meta":         {exists: listedMeta},
		"PromptArgument.title": {exists: titles},

		"ReadResourceParams.uri":    {form: uri},
		"ResourceUpdatedParams.uri": {form: uri},
		"SubscribeParams.uri":       {form: uri},

		"Resource.uri":                 {form: uri},
		"Resource.title":               {exists: titles},
		"Resource.icons":               {exists: icons},
		"Resource._meta":               {exists: listedMeta},
		"ResourceTemplate.uriTemplate": {form: uriTemplate},
		"ResourceTemplate.title":       {exists: titles},
		"ResourceTemplate.icons":       {exists: icons},
		"ResourceTemplate._meta":       {exists: listedMeta},

		"ResultBase.resultType":          {exists: envelope, required: always, form: resultType(mcp.ResultComplete)},
		"EmptyResult.resultType":         {form: str},
		"InputRequiredResult.resultType": {form: resultType(mcp.ResultInputRequired)},

		"Root.uri":   {form: uri},
		"Root._meta": {exists: listedMeta},

		"SamplingMessage.content": {form: samplingContent},
		"SamplingMessage._meta":   {exists: samplingTools},

		"StringSchema.default": {exists: richForms},
		"NumberSchema.default": {exists: richForms},

		"URLElicitationRequiredData.elicitations": {form: list(urlElicitation)},

		"Tool.title":        {exists: titles},
		"Tool.inputSchema":  {form: inputSchema},
		"Tool.outputSchema": {exists: structured, form: outputSchema},
		"Tool.annotations":  {exists: func(f *dialect.Facts) bool { return f.ToolAnnotations }},
		"Tool.execution":    {exists: tasks},
		"Tool.icons":        {exists: icons},
		"Tool._meta":        {exists: listedMeta},
	}
}

// memberOf returns the properties of a member of outer. inner, which is outer itself or embedded
// in it, declares the member.
func memberOf(outer, inner, name string) member {
	own, inherited := members[outer+"."+name], members[inner+"."+name]
	if strings.Contains(outer, ".") {
		inherited.form = nil // outer is of an extension, which has its own types
	}
	if own.exists == nil {
		own.exists = inherited.exists
	}
	if own.required == nil {
		own.required = inherited.required
	}
	if own.form == nil {
		own.form = inherited.form
	}
	return own
}
