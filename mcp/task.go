package mcp

import "encoding/json/jsontext"

// This file holds the types of tasks in 2025-11-25, where they are part of the
// core. Later revisions have tasks as an extension with types of its own.

// Task is a request that runs in the background while its sender polls.
//
// Spec: 2025-11-25 basic/utilities/tasks
type Task struct {
	// TaskID is the id of the task. The receiver of the request chooses it.
	TaskID string     `json:"taskId"`
	Status TaskStatus `json:"status"`
	// StatusMessage describes the status for users.
	StatusMessage string `json:"statusMessage,omitzero"`
	// CreatedAt and LastUpdatedAt are timestamps in ISO 8601. They are neither
	// parsed nor changed.
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTL is how long the task is kept after its creation, in milliseconds. Nil
	// means no limit.
	TTL *int64 `json:"ttl"`
	// PollInterval is the suggested time between two polls, in milliseconds, or
	// nil.
	PollInterval *int64 `json:"pollInterval,omitzero"`
}

// TaskStatus is the state of a task.
type TaskStatus string

// The states of a task.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Terminal reports whether the state is final: completed, failed or cancelled.
func (s TaskStatus) Terminal() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// TaskMetadata in the params of a request asks that a task is created for
// it.
type TaskMetadata struct {
	// TTL is the requested time to keep the task after its creation, in
	// milliseconds. If it is nil, the receiver chooses.
	TTL *int64 `json:"ttl,omitzero"`
}

// RelatedTask is the value of MetaRelatedTask. It identifies the task that a
// message belongs to.
type RelatedTask struct {
	TaskID string `json:"taskId"`
}

// CreateTaskResult is the result of a request for which a task was created.
type CreateTaskResult struct {
	ResultBase
	Task Task `json:"task"`
}

// TaskParams are the params of tasks/get, tasks/result and tasks/cancel.
type TaskParams struct {
	TaskID string `json:"taskId"`
	Meta   Meta   `json:"_meta,omitempty"`
}

// TaskResult is the result of tasks/get and tasks/cancel.
type TaskResult struct {
	ResultBase
	Task
}

// TaskPayloadResult is the result of tasks/result: the result of the original
// request.
type TaskPayloadResult struct {
	ResultBase
	// Extra holds the members of the original result, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ListTasksResult is one page of tasks.
type ListTasksResult struct {
	ResultBase
	Tasks []Task `json:"tasks"`
	// NextCursor is the cursor of the next page; nil means that this page is the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// TaskStatusParams are the params of notifications/tasks/status.
type TaskStatusParams struct {
	Task
	Meta Meta `json:"_meta,omitempty"`
}

// ToolExecution declares how a tool may be called.
type ToolExecution struct {
	// TaskSupport is the declared value. Tool.TaskSupport applies the default.
	TaskSupport TaskSupport `json:"taskSupport,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// TaskSupport declares whether a tool may be called as a task.
type TaskSupport string

// The degrees of task support.
const (
	TaskForbidden TaskSupport = "forbidden"
	TaskOptional  TaskSupport = "optional"
	TaskRequired  TaskSupport = "required"
)

// TasksCapability declares for which requests a peer can create tasks. Clients
// and servers use the same type, with different requests.
//
// Spec: 2025-11-25 basic/utilities/tasks#capabilities
type TasksCapability struct {
	List     *Capability   `json:"list,omitzero"`
	Cancel   *Capability   `json:"cancel,omitzero"`
	Requests *TaskRequests `json:"requests,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// TaskRequests declares for which requests a peer can create tasks.
type TaskRequests struct {
	// Tools is declared by servers.
	Tools *ToolTaskRequests `json:"tools,omitzero"`
	// Elicitation is declared by clients.
	Elicitation *ElicitationTaskRequests `json:"elicitation,omitzero"`
	// Sampling is declared by clients.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	Sampling *SamplingTaskRequests `json:"sampling,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ToolTaskRequests declares for which requests of tools a peer can create
// tasks.
type ToolTaskRequests struct {
	Call *Capability `json:"call,omitzero"`
}

// SamplingTaskRequests declares for which requests of sampling a peer can
// create tasks.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type SamplingTaskRequests struct {
	CreateMessage *Capability `json:"createMessage,omitzero"`
}

// ElicitationTaskRequests declares for which requests of elicitation a peer can
// create tasks.
type ElicitationTaskRequests struct {
	Create *Capability `json:"create,omitzero"`
}

// Takes reports whether a task can be created for requests of the given method.
// It is false for nil.
func (c *TasksCapability) Takes(method string) bool {
	if c == nil || c.Requests == nil {
		return false
	}
	r := c.Requests
	switch method {
	case MethodToolsCall:
		return r.Tools != nil && r.Tools.Call != nil
	case MethodCreateMessage:
		return r.Sampling != nil && r.Sampling.CreateMessage != nil
	case MethodElicit:
		return r.Elicitation != nil && r.Elicitation.Create != nil
	}
	return false
}
