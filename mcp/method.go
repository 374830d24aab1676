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

// MethodSetLevel sets the minimum level of the log messages of a session.
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

// MethodElicit asks the user. It is a request of the server in the session era,
// and an input request in the stateless era.
const MethodElicit = "elicitation/create"

// MethodCreateMessage asks the client's model. It is a request of the server in
// the session era, and an input request in the stateless era.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
const MethodCreateMessage = "sampling/createMessage"

// MethodRootsList asks for the client's roots. It is a request of the server in
// the session era, and an input request in the stateless era.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
const MethodRootsList = "roots/list"

// Notifications that either side sends.
const (
	NotificationCancelled = "notifications/cancelled"
	NotificationProgress  = "notifications/progress"
	// NotificationTaskStatus is part of the tasks of 2025-11-25.
	NotificationTaskStatus = "notifications/tasks/status"
)

// NotificationInitialized is sent by a client and ends the handshake of the
// session era.
const NotificationInitialized = "notifications/initialized"

// NotificationRootsListChanged tells a server of the session era that the
// client's roots changed.
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
	// NotificationAcknowledged is the first message on the stream of a
	// subscription.
	NotificationAcknowledged = "notifications/subscriptions/acknowledged"
	// NotificationElicitationComplete exists in 2025-11-25 only.
	NotificationElicitationComplete = "notifications/elicitation/complete"
)

// NotificationMessage carries one log message of a server.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
const NotificationMessage = "notifications/message"
