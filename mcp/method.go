package mcp

// Requests that a client sends.
const (
	MethodDiscover              = "server/discover"
	MethodToolsList             = "tools/list"
	MethodToolsCall             = "tools/call"
	MethodResourcesList         = "resources/list"
	MethodResourceTemplatesList = "resources/templates/list"
	MethodResourcesRead         = "resources/read"
	MethodPromptsList           = "prompts/list"
	MethodPromptsGet            = "prompts/get"
	MethodComplete              = "completion/complete"
	MethodListen                = "subscriptions/listen"
)

// Requests that a client sends in the session era only.
const (
	MethodInitialize           = "initialize"
	MethodResourcesSubscribe   = "resources/subscribe"
	MethodResourcesUnsubscribe = "resources/unsubscribe"
)

// MethodSetLevel chooses how much a session logs.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
const MethodSetLevel = "logging/setLevel"

// Requests that either side sends in the session era.
const (
	MethodPing        = "ping"
	MethodTasksGet    = "tasks/get"
	MethodTasksResult = "tasks/result"
	MethodTasksCancel = "tasks/cancel"
	MethodTasksList   = "tasks/list"
)

// MethodElicit asks the user: a request of the server in the session era, an
// input request since.
const MethodElicit = "elicitation/create"

// MethodCreateMessage asks the client's model: a request of the server in the
// session era, an input request since.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
const MethodCreateMessage = "sampling/createMessage"

// MethodRootsList asks for the client's roots: a request of the server in the
// session era, an input request since.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
const MethodRootsList = "roots/list"

// Notifications that either side sends.
const (
	NotificationCancelled = "notifications/cancelled"
	NotificationProgress  = "notifications/progress"
	// NotificationTaskStatus belongs to the tasks of 2025-11-25.
	NotificationTaskStatus = "notifications/tasks/status"
)

// NotificationInitialized ends the handshake of the session era. A client
// sends it.
const NotificationInitialized = "notifications/initialized"

// NotificationRootsListChanged tells a server of the session era to ask for
// the roots again.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
const NotificationRootsListChanged = "notifications/roots/list_changed"

// Notifications that a server sends.
const (
	NotificationToolsListChanged     = "notifications/tools/list_changed"
	NotificationPromptsListChanged   = "notifications/prompts/list_changed"
	NotificationResourcesListChanged = "notifications/resources/list_changed"
	NotificationResourceUpdated      = "notifications/resources/updated"
	// NotificationAcknowledged opens the stream of a subscription.
	NotificationAcknowledged = "notifications/subscriptions/acknowledged"
	// NotificationElicitationComplete belongs to 2025-11-25.
	NotificationElicitationComplete = "notifications/elicitation/complete"
)

// NotificationMessage carries one log message of a server.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
const NotificationMessage = "notifications/message"
