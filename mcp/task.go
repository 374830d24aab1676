package mcp

import "encoding/json/jsontext"

// This file holds the tasks that 2025-11-25 has in its core. The tasks of later
// revisions are an extension with shapes of its own.

// Task is a request that is carried out while its sender polls.
//
// Spec: 2025-11-25 basic/utilities/tasks
type Task struct {
	// TaskID is chosen by the receiver of the request.
	TaskID string     `json:"taskId"`
	Status TaskStatus `json:"status"`
	// StatusMessage is for people.
	StatusMessage string `json:"statusMessage,omitzero"`
	// CreatedAt and LastUpdatedAt are moments in ISO 8601, kept as they came.
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTL is how long the task is kept after its creation, in milliseconds. Nil
	// means without limit.
	TTL *int64 `json:"ttl"`
	// PollInterval is the wished time between two polls, in milliseconds, or nil.
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

// Terminal reports whether a task in this state stays in it.
func (s TaskStatus) Terminal() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// TaskMetadata asks, in the params of a request, that it become a task.
type TaskMetadata struct {
	// TTL is how long the task should be kept after its creation, in
	// milliseconds. Nil leaves it to the receiver.
	TTL *int64 `json:"ttl,omitzero"`
}

// RelatedTask is the value of MetaRelatedTask: the task that a message belongs
// to.
type RelatedTask struct {
	TaskID string `json:"taskId"`
}

// CreateTaskResult answers a request that became a task.
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

// TaskPayloadResult is the result of tasks/result: whatever the request would
// have been answered without a task.
type TaskPayloadResult struct {
	ResultBase
	// Extra holds the members of the result proper, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ListTasksResult is one page of tasks.
type ListTasksResult struct {
	ResultBase
	Tasks []Task `json:"tasks"`
	// NextCursor asks for the next page; nil means that this page is the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// TaskStatusParams are the params of notifications/tasks/status.
type TaskStatusParams struct {
	Task
	Meta Meta `json:"_meta,omitempty"`
}

// ToolExecution says how a tool may be called.
type ToolExecution struct {
	// TaskSupport is read by Tool.TaskSupport, which knows the default.
	TaskSupport TaskSupport `json:"taskSupport,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// TaskSupport says whether a tool may be called as a task.
type TaskSupport string

// The degrees of task support.
const (
	TaskForbidden TaskSupport = "forbidden"
	TaskOptional  TaskSupport = "optional"
	TaskRequired  TaskSupport = "required"
)

// TasksCapability declares which requests its side takes as tasks. Clients and
// servers share the shape; their requests differ.
//
// Spec: 2025-11-25 basic/utilities/tasks#capabilities
type TasksCapability struct {
	List     *Capability   `json:"list,omitzero"`
	Cancel   *Capability   `json:"cancel,omitzero"`
	Requests *TaskRequests `json:"requests,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// TaskRequests names the requests that are taken as tasks.
type TaskRequests struct {
	// Tools is for servers.
	Tools *ToolTaskRequests `json:"tools,omitzero"`
	// Elicitation is for clients.
	Elicitation *ElicitationTaskRequests `json:"elicitation,omitzero"`
	// Sampling is for clients.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	Sampling *SamplingTaskRequests `json:"sampling,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ToolTaskRequests names the requests on tools that are taken as tasks.
type ToolTaskRequests struct {
	Call *Capability `json:"call,omitzero"`
}

// SamplingTaskRequests names the requests on sampling that are taken as tasks.
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
type SamplingTaskRequests struct {
	CreateMessage *Capability `json:"createMessage,omitzero"`
}

// ElicitationTaskRequests names the requests on elicitation that are taken as
// tasks.
type ElicitationTaskRequests struct {
	Create *Capability `json:"create,omitzero"`
}

// Takes reports whether a request of that method may be sent as a task. It is
// false for nil.
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
