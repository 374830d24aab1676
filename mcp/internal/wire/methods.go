package wire

import (
	"reflect"

	"github.com/fondaco/fondaco/mcp"
)

// Method says what goes over the wire for one method. Params and Results are
// zero values of the types that encode it; nil Params stand for params without
// members of their own. A notification has no Results.
type Method struct {
	Params  any
	Results []any
}

// requests are the methods that have an answer, of either side and all
// revisions. Which revision has which one is a fact of the dialect.
var requests = map[string]Method{
	mcp.MethodInitialize:            {mcp.InitializeParams{}, []any{mcp.InitializeResult{}}},
	mcp.MethodDiscover:              {nil, []any{mcp.DiscoverResult{}}},
	mcp.MethodPing:                  {nil, []any{mcp.EmptyResult{}}},
	mcp.MethodToolsList:             {mcp.ListParams{}, []any{mcp.ListToolsResult{}}},
	mcp.MethodToolsCall:             {mcp.CallToolParams{}, []any{mcp.CallToolResult{}, mcp.InputRequiredResult{}, mcp.CreateTaskResult{}}},
	mcp.MethodResourcesList:         {mcp.ListParams{}, []any{mcp.ListResourcesResult{}}},
	mcp.MethodResourceTemplatesList: {mcp.ListParams{}, []any{mcp.ListResourceTemplatesResult{}}},
	mcp.MethodResourcesRead:         {mcp.ReadResourceParams{}, []any{mcp.ReadResourceResult{}, mcp.InputRequiredResult{}}},
	mcp.MethodResourcesSubscribe:    {mcp.SubscribeParams{}, []any{mcp.EmptyResult{}}},
	mcp.MethodResourcesUnsubscribe:  {mcp.SubscribeParams{}, []any{mcp.EmptyResult{}}},
	mcp.MethodPromptsList:           {mcp.ListParams{}, []any{mcp.ListPromptsResult{}}},
	mcp.MethodPromptsGet:            {mcp.GetPromptParams{}, []any{mcp.GetPromptResult{}, mcp.InputRequiredResult{}}},
	mcp.MethodComplete:              {mcp.CompleteParams{}, []any{mcp.CompleteResult{}}},
	mcp.MethodListen:                {mcp.ListenParams{}, []any{mcp.ListenResult{}}},
	mcp.MethodSetLevel:              {mcp.SetLevelParams{}, []any{mcp.EmptyResult{}}},
	mcp.MethodElicit:                {mcp.ElicitParams{}, []any{mcp.ElicitResult{}, mcp.CreateTaskResult{}}},
	mcp.MethodCreateMessage:         {mcp.CreateMessageParams{}, []any{mcp.CreateMessageResult{}, mcp.CreateTaskResult{}}},
	mcp.MethodRootsList:             {nil, []any{mcp.ListRootsResult{}}},
	mcp.MethodTasksGet:              {mcp.TaskParams{}, []any{mcp.TaskResult{}}},
	mcp.MethodTasksResult:           {mcp.TaskParams{}, []any{mcp.TaskPayloadResult{}}},
	mcp.MethodTasksCancel:           {mcp.TaskParams{}, []any{mcp.TaskResult{}}},
	mcp.MethodTasksList:             {mcp.ListParams{}, []any{mcp.ListTasksResult{}}},
}

// notifications are the methods without an answer.
var notifications = map[string]Method{
	mcp.NotificationInitialized:          {},
	mcp.NotificationCancelled:            {Params: mcp.CancelledParams{}},
	mcp.NotificationProgress:             {Params: mcp.ProgressParams{}},
	mcp.NotificationMessage:              {Params: mcp.LoggingMessageParams{}},
	mcp.NotificationTaskStatus:           {Params: mcp.TaskStatusParams{}},
	mcp.NotificationRootsListChanged:     {},
	mcp.NotificationToolsListChanged:     {},
	mcp.NotificationPromptsListChanged:   {},
	mcp.NotificationResourcesListChanged: {},
	mcp.NotificationResourceUpdated:      {Params: mcp.ResourceUpdatedParams{}},
	mcp.NotificationAcknowledged:         {Params: mcp.AcknowledgedParams{}},
	mcp.NotificationElicitationComplete:  {Params: mcp.ElicitationCompleteParams{}},
}

// errorData are the kinds of error that carry data of a known form.
var errorData = map[mcp.Code]any{
	mcp.CodeMissingCapability:      mcp.MissingCapabilityData{},
	mcp.CodeUnsupportedVersion:     mcp.UnsupportedVersionData{},
	mcp.CodeURLElicitationRequired: mcp.URLElicitationRequiredData{},
}

// enums are the closed sets of strings, by their type.
var enums = map[reflect.Type][]string{}

func init() {
	closed(mcp.RoleUser, mcp.RoleAssistant)
	closed(mcp.LevelDebug, mcp.LevelInfo, mcp.LevelNotice, mcp.LevelWarning,
		mcp.LevelError, mcp.LevelCritical, mcp.LevelAlert, mcp.LevelEmergency)
	closed(mcp.CachePublic, mcp.CachePrivate)
	closed(mcp.IconLight, mcp.IconDark)
	closed(mcp.IncludeNone, mcp.IncludeThisServer, mcp.IncludeAllServers)
	closed(mcp.ToolChoiceAuto, mcp.ToolChoiceRequired, mcp.ToolChoiceNone)
	closed(mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel)
	closed(mcp.FormatEmail, mcp.FormatURI, mcp.FormatDate, mcp.FormatDateTime)
	closed(mcp.TaskWorking, mcp.TaskInputRequired, mcp.TaskCompleted, mcp.TaskFailed, mcp.TaskCancelled)
	closed(mcp.TaskForbidden, mcp.TaskOptional, mcp.TaskRequired)
}

func closed[T ~string](values ...T) {
	for _, v := range values {
		enums[reflect.TypeFor[T]()] = append(enums[reflect.TypeFor[T]()], string(v))
	}
}
