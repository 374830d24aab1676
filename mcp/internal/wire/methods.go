package wire

import (
	"reflect"

	"github.com/fondaco/fondaco/mcp"
)

// Method describes the messages of one method. Params and Results are zero values of the types
// that encode them; nil Params stand for params without their own members. A notification has no
// Results.
type Method struct {
	Params  any
	Results []any
}

// requests are the methods that have a response, of both sides and all revisions. The facts of
// package dialect say which revision has which method.
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

// notifications are the methods without a response.
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

// errorData holds the types of the data of errors that define it.
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
