package mcp_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"go/ast"
	"reflect"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

// samples holds JSON of every type of the vocabulary, with every member that
// any revision gives it, and no other. Members are in the order of the fields,
// so that encoding gives back the very text.
var samples = []struct {
	value any
	raw   string
}{
	{new(mcp.EmptyParams), `{"_meta":{"progressToken":7}}`},
	{new(mcp.Surface), `{"instructions":"be kind","tools":[{"name":"t","inputSchema":{"type":"object"}}],"prompts":[{"name":"p"}],"resources":[{"uri":"a:b","name":"r"}],"resourceTemplates":[{"uriTemplate":"a:{x}","name":"u"}]}`},
	{new(mcp.EmptyResult), `{"resultType":"complete","_meta":{"com.example/k":{"a":[1]}}}`},
	{new(mcp.ListParams), `{"cursor":"","_meta":{"progressToken":"t"}}`},
	{new(mcp.Annotations), `{"audience":["user","assistant"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"}`},
	{new(mcp.Icon), `{"src":"https://example.com/i.png","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}`},

	// Lifecycle and capabilities.
	{new(mcp.Implementation), `{"name":"n","title":"t","version":"1","description":"d","websiteUrl":"https://example.com","icons":[{"src":"data:,"}]}`},
	{new(mcp.DiscoverResult), `{"resultType":"complete","ttlMs":0,"cacheScope":"public","supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"i"}`},
	{new(mcp.InitializeParams), `{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{"listChanged":true}},"clientInfo":{"name":"n","version":"1"},"_meta":{"k":null}}`},
	{new(mcp.InitializeResult), `{"_meta":{"k":1},"protocolVersion":"2024-11-05","capabilities":{"logging":{}},"serverInfo":{"name":"n","version":"1"},"instructions":"i"}`},
	{new(mcp.Capability), `{}`},
	{new(mcp.ClientCapabilities), `{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}},"roots":{"listChanged":true},` +
		`"tasks":{"list":{},"cancel":{},"requests":{"elicitation":{"create":{}},"sampling":{"createMessage":{}}}},"extensions":{"com.example/x":{"a":1}},"experimental":{"e":{}}}`},
	{new(mcp.ServerCapabilities), `{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true},"completions":{},"logging":{},` +
		`"tasks":{"requests":{"tools":{"call":{}}}},"extensions":{"com.example/x":{}},"experimental":{"e":{"f":[]}}}`},
	{new(mcp.ListCapability), `{"listChanged":true}`},
	{new(mcp.ResourcesCapability), `{"listChanged":true,"subscribe":true}`},
	{new(mcp.ElicitationCapability), `{"form":{},"url":{}}`},
	{new(mcp.SamplingCapability), `{"context":{},"tools":{}}`},
	{new(mcp.RootsCapability), `{"listChanged":true}`},
	{new(mcp.MissingCapabilityData), `{"requiredCapabilities":{"elicitation":{"url":{}}}}`},
	{new(mcp.InsufficientScopeData), `{"requiredScopes":["files:read","files:write"]}`},
	{new(mcp.RetryLaterData), `{"retryAfterMs":1500}`},
	{new(mcp.UnsupportedVersionData), `{"supported":["2026-07-28"],"requested":"1999-01-01"}`},

	// Tools.
	{new(mcp.Tool), `{"name":"n","title":"t","description":"d","inputSchema":{"type":"object","x-mcp-header":"H"},"outputSchema":{"type":"array"},` +
		`"annotations":{"title":"a"},"execution":{"taskSupport":"optional"},"icons":[{"src":"data:,"}],"_meta":{"k":1}}`},
	{new(mcp.ToolAnnotations), `{"title":"a","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`},
	{new(mcp.ToolExecution), `{"taskSupport":"required"}`},
	{new(mcp.ListToolsResult), `{"resultType":"complete","_meta":{"k":1},"ttlMs":1500,"cacheScope":"private","tools":[],"nextCursor":"c"}`},
	{new(mcp.CallToolParams), `{"name":"n","arguments":{"big":123456789012345678901234567890,"f":1.0},"inputResponses":{"q":{"action":"accept"}},"requestState":"",` +
		`"task":{"ttl":60000},"_meta":{"progressToken":"t"}}`},
	{new(mcp.CallToolResult), `{"resultType":"complete","_meta":{"k":1},"content":[{"type":"text","text":"hi"}],"structuredContent":null,"isError":true}`},

	// Resources.
	{new(mcp.Resource), `{"uri":"file:///a","name":"n","title":"t","description":"d","mimeType":"text/plain","size":0,"annotations":{"priority":1},"icons":[{"src":"data:,"}],"_meta":{"k":1}}`},
	{new(mcp.ResourceTemplate), `{"uriTemplate":"file:///{p}","name":"n","title":"t","description":"d","mimeType":"text/plain","annotations":{},"icons":[{"src":"data:,"}],"_meta":{"k":1}}`},
	{new(mcp.ListResourcesResult), `{"ttlMs":9007199254740993,"cacheScope":"public","resources":[{"uri":"file:///a","name":"n"}],"nextCursor":""}`},
	{new(mcp.ListResourceTemplatesResult), `{"resourceTemplates":[{"uriTemplate":"file:///{p}","name":"n"}],"nextCursor":"c"}`},
	{new(mcp.ReadResourceParams), `{"uri":"file:///a","inputResponses":{"q":{}},"requestState":"s","_meta":{"k":1}}`},
	{new(mcp.ReadResourceResult), `{"resultType":"complete","ttlMs":1,"cacheScope":"private","contents":[{"uri":"file:///a","mimeType":"text/plain","text":""},{"uri":"file:///b","blob":"","_meta":{"k":1}}]}`},
	{new(mcp.ResourceContents), `{"uri":"file:///a","mimeType":"image/png","blob":"aGk=","_meta":{"k":1}}`},
	{new(mcp.ResourceUpdatedParams), `{"uri":"file:///a","_meta":{"io.modelcontextprotocol/subscriptionId":1}}`},
	{new(mcp.SubscribeParams), `{"uri":"file:///a","_meta":{"k":1}}`},
	{new(mcp.ResourceNotFoundData), `{"uri":"file:///a"}`},

	// Prompts and completion.
	{new(mcp.Prompt), `{"name":"n","title":"t","description":"d","arguments":[{"name":"a","title":"t","description":"d","required":true}],"icons":[{"src":"data:,"}],"_meta":{"k":1}}`},
	{new(mcp.PromptArgument), `{"name":"a","title":"t","description":"d","required":true}`},
	{new(mcp.ListPromptsResult), `{"resultType":"complete","ttlMs":1,"cacheScope":"public","prompts":[{"name":"n"}],"nextCursor":"c"}`},
	{new(mcp.GetPromptParams), `{"name":"n","arguments":{"a":"b"},"inputResponses":{},"requestState":"s","_meta":{"k":1}}`},
	{new(mcp.GetPromptResult), `{"resultType":"complete","description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`},
	{new(mcp.PromptMessage), `{"role":"assistant","content":{"type":"audio","data":"aGk=","mimeType":"audio/wav"}}`},
	{new(mcp.CompleteParams), `{"ref":{"type":"ref/prompt","name":"n","title":"t"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"c"}},"_meta":{"k":1}}`},
	{new(mcp.CompleteArgument), `{"name":"a","value":"v"}`},
	{new(mcp.CompleteContext), `{"arguments":{"b":"c"}}`},
	{new(mcp.Reference), `{"type":"ref/resource","uri":"file:///{p}"}`},
	{new(mcp.CompleteResult), `{"resultType":"complete","completion":{"values":[],"total":0,"hasMore":true}}`},
	{new(mcp.Completion), `{"values":["a"],"total":12}`},

	// Content.
	{new(mcp.TextContent), `{"type":"text","text":"","annotations":{"audience":["user"]},"_meta":{"k":1}}`},
	{new(mcp.ImageContent), `{"type":"image","data":"aGk=","mimeType":"image/png","annotations":{},"_meta":{"k":1}}`},
	{new(mcp.AudioContent), `{"type":"audio","data":"","mimeType":"audio/wav","annotations":{},"_meta":{"k":1}}`},
	{new(mcp.ResourceLink), `{"type":"resource_link","uri":"file:///a","name":"n","title":"t","description":"d","mimeType":"text/plain","size":3,"annotations":{},"icons":[{"src":"data:,"}],"_meta":{"k":1}}`},
	{new(mcp.EmbeddedResource), `{"type":"resource","resource":{"uri":"file:///a","text":"hi"},"annotations":{},"_meta":{"k":1}}`},
	{new(mcp.ToolUseContent), `{"type":"tool_use","id":"1","name":"n","input":{"a":1},"_meta":{"k":1}}`},
	{new(mcp.ToolResultContent), `{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"hi"}],"structuredContent":[1],"isError":true,"_meta":{"k":1}}`},

	// Subscriptions, progress, cancellation.
	{new(mcp.SubscriptionFilter), `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a"]}`},
	{new(mcp.ListenParams), `{"notifications":{"toolsListChanged":true},"_meta":{"k":1}}`},
	{new(mcp.ListenResult), `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}`},
	{new(mcp.AcknowledgedParams), `{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}`},
	{new(mcp.ProgressParams), `{"progressToken":"t","progress":0,"total":2.5,"message":"m","_meta":{"k":1}}`},
	{new(mcp.CancelledParams), `{"requestId":9007199254740993,"reason":"r","_meta":{"k":1}}`},

	// Asking the client.
	{new(mcp.InputRequiredResult), `{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}},"requestState":""}`},
	{new(mcp.InputRequest), `{"method":"elicitation/create","params":{"message":"m"}}`},
	{new(mcp.InputResponseParams), `{"inputResponses":{"q":{"roots":[]}},"requestState":"s"}`},
	{new(mcp.ElicitParams), `{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}},"task":{},"_meta":{"k":1}}`},
	{new(mcp.ElicitParams), `{"mode":"url","message":"m","url":"https://example.com","elicitationId":"e"}`},
	{new(mcp.ElicitResult), `{"action":"accept","content":{"n":1}}`},
	{new(mcp.ElicitationCompleteParams), `{"elicitationId":"e","_meta":{"k":1}}`},
	{new(mcp.URLElicitationRequiredData), `{"elicitations":[{"mode":"url","message":"m","url":"https://example.com","elicitationId":"e"}]}`},
	{new(mcp.CreateMessageParams), `{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"maxTokens":100,"systemPrompt":"s","modelPreferences":{"hints":[{"name":"n"}]},` +
		`"includeContext":"thisServer","temperature":0,"stopSequences":["."],"tools":[{"name":"n","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"required"},"metadata":{"p":1},"task":{"ttl":1},"_meta":{"k":1}}`},
	{new(mcp.SamplingMessage), `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{}},{"type":"text","text":"hi"}],"_meta":{"k":1}}`},
	{new(mcp.CreateMessageResult), `{"_meta":{"k":1},"role":"assistant","content":[{"type":"text","text":"hi"}],"model":"m","stopReason":"endTurn"}`},
	{new(mcp.ModelPreferences), `{"hints":[{}],"costPriority":0,"speedPriority":0.5,"intelligencePriority":1}`},
	{new(mcp.ModelHint), `{"name":"n"}`},
	{new(mcp.ToolChoice), `{"mode":"none"}`},
	{new(mcp.Root), `{"uri":"file:///a","name":"n","_meta":{"k":1}}`},
	{new(mcp.ListRootsResult), `{"_meta":{"k":1},"roots":[{"uri":"file:///a"}]}`},

	// Logging.
	{new(mcp.LoggingMessageParams), `{"level":"warning","logger":"l","data":null,"_meta":{"k":1}}`},
	{new(mcp.SetLevelParams), `{"level":"debug","_meta":{"k":1}}`},

	// Tasks of 2025-11-25.
	{new(mcp.Task), `{"taskId":"t","status":"working","statusMessage":"m","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null,"pollInterval":5000}`},
	{new(mcp.TaskMetadata), `{"ttl":0}`},
	{new(mcp.RelatedTask), `{"taskId":"t"}`},
	{new(mcp.CreateTaskResult), `{"_meta":{"k":1},"task":{"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"l","ttl":60000}}`},
	{new(mcp.TaskParams), `{"taskId":"t","_meta":{"k":1}}`},
	{new(mcp.TaskResult), `{"_meta":{"k":1},"taskId":"t","status":"failed","createdAt":"c","lastUpdatedAt":"l","ttl":null}`},
	{new(mcp.TaskPayloadResult), `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`},
	{new(mcp.ListTasksResult), `{"tasks":[],"nextCursor":"c"}`},
	{new(mcp.TaskStatusParams), `{"taskId":"t","status":"completed","createdAt":"c","lastUpdatedAt":"l","ttl":1,"_meta":{"k":1}}`},
	{new(mcp.TasksCapability), `{"list":{},"cancel":{},"requests":{}}`},
	{new(mcp.TaskRequests), `{"tools":{},"elicitation":{},"sampling":{}}`},
	{new(mcp.ToolTaskRequests), `{"call":{}}`},
	{new(mcp.SamplingTaskRequests), `{"createMessage":{}}`},
	{new(mcp.ElicitationTaskRequests), `{"create":{}}`},
}

func TestEveryMemberSurvivesARoundTrip(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-331", "D-19", "D-23")
	for _, s := range samples {
		value := reflect.New(reflect.TypeOf(s.value).Elem())
		if got := recode(t, value, s.raw); got != s.raw {
			t.Errorf("%v: got  %s\nwant %s", value.Type().Elem(), got, s.raw)
		}
		if extra := extraOf(value); len(extra) > 0 {
			t.Errorf("%v: members %s ended in Extra, want fields for them", value.Type().Elem(), extra)
		}
	}
}

func TestUnknownMembersSurviveARoundTrip(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-355", "D-23")
	const unknown = `"x-new":{"a":[1,1.50,"\u00e9"],"b":null}`
	checked := 0
	for _, s := range samples {
		value := reflect.New(reflect.TypeOf(s.value).Elem())
		if extra := value.Elem().FieldByName("Extra"); !extra.IsValid() {
			continue
		}
		checked++
		raw := strings.Replace(strings.TrimSuffix(s.raw, "}")+","+unknown+"}", "{,", "{", 1)
		want := strings.ReplaceAll(raw, `\u00e9`, "é")
		if got := recode(t, value, raw); got != want {
			t.Errorf("%v: got  %s\nwant %s", value.Type().Elem(), got, want)
		}
	}
	if checked < 25 {
		t.Errorf("checked %d types with a field Extra, want all of them, 25 at least", checked)
	}
}

// TestSamplesAreComplete keeps the table above from falling behind.
func TestSamplesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{
		// Parts of other types, or no JSON of their own.
		"ResultBase": true, "Caching": true, "UnknownContent": true, "ProgressToken": true,
		"Error": true, "CancelledError": true, "FrameError": true, "Revision": true, "Principal": true, "Identity": true, "Rate": true, "LimitReached": true, "Trace": true,
		"WireMessage": true, "WireHTTP": true,
		// Tested with ElicitSchema.
		"ElicitSchema": true, "ElicitField": true, "StringSchema": true, "NumberSchema": true,
		"BooleanSchema": true, "EnumSchema": true, "EnumOption": true,
	}
	for _, s := range samples {
		seen[reflect.TypeOf(s.value).Elem().Name()] = true
	}
	for name, spec := range exportedTypes(t) {
		if _, isStruct := spec.Type.(*ast.StructType); isStruct && !seen[name] {
			t.Errorf("type %s: got no sample, want one", name)
		}
	}
}

func TestRequiredListsAreNeverNull(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{mcp.ListToolsResult{}, `{"tools":[]}`},
		{mcp.ListResourcesResult{}, `{"resources":[]}`},
		{mcp.ListResourceTemplatesResult{}, `{"resourceTemplates":[]}`},
		{mcp.ListPromptsResult{}, `{"prompts":[]}`},
		{mcp.ListRootsResult{}, `{"roots":[]}`},
		{mcp.ListTasksResult{}, `{"tasks":[]}`},
		{mcp.CallToolResult{}, `{"content":[]}`},
		{mcp.ReadResourceResult{}, `{"contents":[]}`},
		{mcp.GetPromptResult{}, `{"messages":[]}`},
		{mcp.CompleteResult{}, `{"completion":{"values":[]}}`},
		{mcp.DiscoverResult{}, `{"supportedVersions":[],"capabilities":{}}`},
		{mcp.CreateMessageParams{}, `{"messages":[],"maxTokens":0}`},
		{mcp.ToolResultContent{}, `{"type":"tool_result","toolUseId":"","content":[]}`},
		{mcp.UnsupportedVersionData{}, `{"supported":[],"requested":""}`},
		{mcp.URLElicitationRequiredData{}, `{"elicitations":[]}`},
	} {
		if got := encode(t, c.value); got != c.want {
			t.Errorf("%T: got %s, want %s", c.value, got, c.want)
		}
	}
}

func TestExtraMustNotRepeatAMember(t *testing.T) {
	t.Parallel()
	tool := mcp.Tool{Name: "a", InputSchema: jsontext.Value(`{}`), Extra: jsontext.Value(`{"name":"b"}`)}
	if raw, err := json.Marshal(tool); err == nil {
		t.Errorf("got %s, want an error about the member \"name\"", raw)
	}
}

func TestMembersAreExact(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"name":"a","name":"b"}`, `{"name":1}`, `{"name":"` + "\xff" + `"}`} {
		var p mcp.CallToolParams
		if err := json.Unmarshal([]byte(raw), &p); err == nil {
			t.Errorf("%q: got %+v, want an error", raw, p)
		}
	}
	var p mcp.CallToolParams
	if err := json.Unmarshal([]byte(`{"NAME":"a"}`), &p); err != nil || p.Name != "" {
		t.Errorf("got name %q and error %v, want a member of another case to be passed over", p.Name, err)
	}
}

// recode decodes raw into the pointer and returns what it encodes to.
func recode(t *testing.T, pointer reflect.Value, raw string) string {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), pointer.Interface()); err != nil {
		t.Errorf("%v: decode %s: %v", pointer.Type().Elem(), raw, err)
		return ""
	}
	return encode(t, pointer.Interface())
}

// encode returns v as JSON, with the members of maps in a stable order.
func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Errorf("encode %T: %v", v, err)
	}
	return string(raw)
}

// extraOf returns what the struct behind the pointer holds in Extra.
func extraOf(pointer reflect.Value) []byte {
	if field := pointer.Elem().FieldByName("Extra"); field.IsValid() {
		return field.Bytes()
	}
	return nil
}
