package tasks

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// ID is the identifier of the extension.
const ID = "io.modelcontextprotocol/tasks"

// The messages of the extension. Those named in package mcp are also messages of the core
// of 2025-11-25, with other params and results.
const (
	MethodUpdate = "tasks/update"
	Notification = "notifications/tasks"
)

// ResultTask is the type of the result that answers a request with a task.
const ResultTask mcp.ResultType = "task"

// Task is the state of a task, in the form of the extension.
//
// Spec: ext-tasks draft#tasks
type Task struct {
	TaskID string         `json:"taskId"`
	Status mcp.TaskStatus `json:"status"`
	// StatusMessage is for people.
	StatusMessage string `json:"statusMessage,omitzero"`
	// CreatedAt and LastUpdatedAt are times in ISO 8601.
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTLMs is how long the task is stored after its creation, in milliseconds. Nil
	// means no limit.
	TTLMs *int64 `json:"ttlMs"`
	// PollIntervalMs is the requested time between polls, in milliseconds, or nil.
	PollIntervalMs *int64 `json:"pollIntervalMs,omitzero"`

	// InputRequests are the open questions of a task that requires input.
	InputRequests map[string]mcp.InputRequest `json:"inputRequests,omitempty"`
	// Result is the result of the request. It is set if the task is completed.
	Result jsontext.Value `json:"result,omitzero"`
	// Error is the error of the request. It is set if the task has failed.
	Error *Failure `json:"error,omitzero"`
}

// Failure is the JSON-RPC error of a task that has failed.
type Failure struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`
}

// fit returns f, or another failure if f cannot be encoded or is larger than the limit,
// in bytes.
func (f Failure) fit(limit int) *Failure {
	f.Message = strings.ToValidUTF8(f.Message, "\uFFFD")
	raw, err := json.Marshal(f)
	switch {
	case err != nil:
		return &Failure{Code: -32603, Message: "internal error"}
	case len(raw) > limit:
		return &Failure{Code: f.Code, Message: fmt.Sprintf("the error has %d bytes, the limit of a task is %d", len(raw), limit)}
	}
	return &f
}

// taskResult is a result that is a task: that of a request that became a task, and that of
// tasks/get.
type taskResult struct {
	mcp.ResultBase
	Task
}

// notice are the params of notifications/tasks.
type notice struct {
	Task
	Meta mcp.Meta `json:"_meta,omitempty"`
}

// updateParams are the params of tasks/update.
type updateParams struct {
	TaskID         string                    `json:"taskId"`
	InputResponses map[string]jsontext.Value `json:"inputResponses"`
	Meta           mcp.Meta                  `json:"_meta,omitempty"`
}

// seed returns the task without the members that only tasks/get returns.
func (t Task) seed() Task {
	t.InputRequests, t.Result, t.Error = nil, nil, nil
	return t
}

// pause returns the time between polls, within the bounds.
func (t Task) pause() time.Duration {
	if t.PollIntervalMs == nil {
		return defaultPoll
	}
	requested := min(max(*t.PollIntervalMs, minPoll.Milliseconds()), maxPoll.Milliseconds())
	return time.Duration(requested) * time.Millisecond
}

// Times between polls: the one if the peer requests none, and the bounds of requested
// ones.
const (
	defaultPoll = time.Second
	minPoll     = 20 * time.Millisecond
	maxPoll     = time.Minute
)
