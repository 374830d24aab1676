package tasks

import (
	"crypto/rand"
	"encoding/json/jsontext"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// entry is a stored task. The forms of all revisions are made of it.
type entry struct {
	ID      string         `json:"id"`
	Owner   string         `json:"owner"`
	Method  string         `json:"method"` // of the request
	Status  mcp.TaskStatus `json:"status"`
	Message string         `json:"message,omitzero"`
	Created time.Time      `json:"created"`
	Updated time.Time      `json:"updated"`
	Expires time.Time      `json:"expires"`
	Poll    int64          `json:"poll"` // milliseconds
	// Lease is the time until which the process of the task has said that it runs.
	Lease time.Time `json:"lease"`

	// Open holds the questions without an answer, and Answers the answers that the
	// handler has not received yet.
	Open    map[string]mcp.InputRequest `json:"open,omitempty"`
	Answers map[string]answer           `json:"answers,omitempty"`

	Result jsontext.Value `json:"result,omitzero"`
	Error  *Failure       `json:"error,omitzero"`

	// Call says that the entry is that of a durable call, which is no task for its client.
	Call bool `json:"call,omitzero"`
	// Durable is nil for tasks that end with their process. They have no Lease.
	Durable *durableState `json:"durable,omitzero"`
}

// answer is the answer to a question: a value, or in 2025-11-25 an error of the client.
type answer struct {
	Value   jsontext.Value `json:"value,omitzero"`
	Failure *Failure       `json:"failure,omitzero"`
}

// newEntry returns a new task with a random id.
func newEntry(owner, method string, ttl, poll time.Duration) *entry {
	now := time.Now().Truncate(time.Millisecond)
	return &entry{
		ID: rand.Text(), Owner: owner, Method: method, Status: mcp.TaskWorking, Poll: poll.Milliseconds(),
		Created: now, Updated: now, Expires: now.Add(ttl), Lease: now.Add(lease),
	}
}

// makeDurable makes a new entry that of a durable task.
func (e *entry) makeDurable(tool string) {
	e.ID = durableMark + e.ID[1:]
	e.Lease = time.Time{}
	e.Durable = &durableState{Tool: tool, Attempt: 1}
}

// left returns the remaining time to live of the task. It is never 0, which a Store would
// take for no expiry.
func (e *entry) left() time.Duration { return max(time.Until(e.Expires), time.Millisecond) }

// task returns the task in the form of the extension.
func (e *entry) task() Task {
	t := Task{
		TaskID: e.ID, Status: e.Status, StatusMessage: e.Message,
		CreatedAt: moment(e.Created), LastUpdatedAt: moment(e.Updated),
		TTLMs: new(e.Expires.Sub(e.Created).Milliseconds()), PollIntervalMs: new(e.Poll),
		Result: e.Result, Error: e.Error,
	}
	if e.Status == mcp.TaskInputRequired {
		t.InputRequests = e.Open
	}
	return t
}

// core returns the task in the form of 2025-11-25.
func (e *entry) core() mcp.Task {
	return mcp.Task{
		TaskID: e.ID, Status: e.Status, StatusMessage: e.Message,
		CreatedAt: moment(e.Created), LastUpdatedAt: moment(e.Updated),
		TTL: new(e.Expires.Sub(e.Created).Milliseconds()), PollInterval: new(e.Poll),
	}
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// open adds a question.
func (e *entry) open(key string, q mcp.InputRequest) {
	if e.Open == nil {
		e.Open = make(map[string]mcp.InputRequest)
	}
	e.Open[key], e.Status = q, mcp.TaskInputRequired
}

// ask opens a question, unless an earlier run of a durable task has asked the same and has the
// answer.
func (e *entry) ask(key string, q mcp.InputRequest) {
	d := e.Durable
	if d == nil {
		e.open(key, q)
		return
	}
	digest := digestOf(q)
	if _, answered := e.Answers[key]; answered && d.Asked[key] == digest {
		return
	}
	delete(e.Answers, key)
	if d.Asked == nil {
		d.Asked = make(map[string]string)
	}
	d.Asked[key], d.Asking = digest, d.Holder
	e.open(key, q)
}

// waits reports whether the run of a durable task has got as far as a question without an answer.
func (e *entry) waits() bool {
	d := e.Durable
	return e.Status == mcp.TaskInputRequired && d.Holder != "" && d.Asking == d.Holder
}

func (e *entry) asks(key string) bool {
	_, open := e.Open[key]
	return open
}

// close removes a question. After the last one the task has the status working again.
func (e *entry) close(key string) {
	delete(e.Open, key)
	if len(e.Open) == 0 {
		e.Status = mcp.TaskWorking
	}
}

// take stores answers to open questions. It ignores other keys: their questions were
// never asked, or are answered already.
func (e *entry) take(answers map[string]answer) {
	for key, a := range answers {
		if !e.asks(key) {
			continue
		}
		if e.Answers == nil {
			e.Answers = make(map[string]answer)
		}
		e.Answers[key] = a
		e.close(key)
	}
}

// end puts the task into a terminal status.
func (e *entry) end(status mcp.TaskStatus, message string) {
	e.Status, e.Message = status, message
	e.Open, e.Answers = nil, nil
	if e.Durable != nil {
		*e.Durable = durableState{Tool: e.Durable.Tool, Attempt: e.Durable.Attempt}
	}
}
