package tasks

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// This file accepts questions of servers as tasks of 2025-11-25.

// Limits of the tasks of one server at a client.
const (
	maxReceived = 64
	maxFailure  = 64 << 10 // bytes of an error
	receivedTTL = time.Hour
)

// receiver stores the tasks of servers at clients. Each client is a separate owner.
type receiver struct {
	entries *entryStore

	mu   sync.Mutex
	kept []received // guarded by mu: the oldest first
}

type received struct {
	id      string
	owner   *mcpclient.Client
	expires time.Time
}

func declareReceiver(c *mcp.ClientCapabilities) {
	requests := new(mcp.TaskRequests)
	if c.Elicitation != nil {
		requests.Elicitation = &mcp.ElicitationTaskRequests{Create: new(mcp.Capability)}
	}
	if c.Sampling != nil {
		requests.Sampling = &mcp.SamplingTaskRequests{CreateMessage: new(mcp.Capability)}
	}
	if requests.Elicitation == nil && requests.Sampling == nil {
		return
	}
	c.Tasks = &mcp.TasksCapability{List: new(mcp.Capability), Cancel: new(mcp.Capability), Requests: requests}
}

// receive runs a question as a task if its params request that.
func (v *receiver) receive(next mcpclient.Handler) mcpclient.Handler {
	return func(ctx context.Context, r *mcpclient.Request) (any, error) {
		if !r.Inbound || r.Method != mcp.MethodElicit && r.Method != mcp.MethodCreateMessage || !r.Revision().HasCoreTasks() {
			return next(ctx, r)
		}
		var p struct {
			Task *mcp.TaskMetadata `json:"task"`
		}
		if raw, ok := r.Params.(jsontext.Value); !ok || json.Unmarshal(raw, &p) != nil || p.Task == nil {
			return next(ctx, r)
		}
		return v.begin(ctx, r, p.Task, next)
	}
}

func (v *receiver) begin(ctx context.Context, r *mcpclient.Request, requested *mcp.TaskMetadata, next mcpclient.Handler) (any, error) {
	ttl := receivedTTL
	if requested.TTL != nil && *requested.TTL > 0 && *requested.TTL < ttl.Milliseconds() {
		ttl = time.Duration(*requested.TTL) * time.Millisecond
	}
	e := newEntry(ownerName(r.Client()), r.Method, ttl, defaultPoll)
	if err := v.admit(ctx, r, e); err != nil {
		return nil, err
	}
	if err := v.entries.open(ctx, e); err != nil {
		return nil, err
	}
	work, cancel := context.WithDeadlineCause(context.WithoutCancel(ctx), e.Expires, errExpired)
	if !r.Client().Go(func(life context.Context) {
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		v.work(work, cancel, r, e.ID, next)
	}) {
		cancel()
		return nil, mcpclient.ErrClosed
	}
	return &mcp.CreateTaskResult{Task: e.core()}, nil
}

// ownerName distinguishes the clients that share the extension.
func ownerName(c *mcpclient.Client) string { return fmt.Sprintf("%p", c) }

// admit adds a new task, or returns an error if there are too many. It removes expired
// tasks first.
func (v *receiver) admit(ctx context.Context, r *mcpclient.Request, e *entry) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	v.kept = slices.DeleteFunc(v.kept, func(k received) bool {
		over := !now.Before(k.expires)
		if over {
			_ = v.entries.store.Delete(ctx, keyPrefix+k.id) // in memory: it cannot fail
		}
		return over
	})
	if len(v.of(r.Client())) >= maxReceived {
		return mcp.Errorf(mcp.CodeInternal, "%s: found %d tasks, which is the maximum; want one of them to end or expire", r.Method, maxReceived)
	}
	v.kept = append(v.kept, received{e.ID, r.Client(), e.Expires})
	return nil
}

// of returns the ids of a client's tasks. The caller holds mu.
func (v *receiver) of(c *mcpclient.Client) (ids []string) {
	for _, k := range v.kept {
		if k.owner == c {
			ids = append(ids, k.id)
		}
	}
	return ids
}

// work answers the question and writes the outcome into the entry.
func (v *receiver) work(ctx context.Context, cancel func(), r *mcpclient.Request, id string, next mcpclient.Handler) {
	w := v.entries.watch(id)
	defer w.stop()
	done := make(chan outcomeOfQuestion, 1)
	if !r.Client().Go(func(context.Context) { // which logs a panic
		o := outcomeOfQuestion{err: errors.New("the handler panicked")}
		defer func() { done <- o }()
		o.result, o.err = next(ctx, r)
	}) {
		done <- outcomeOfQuestion{err: mcpclient.ErrClosed}
	}
	renewal := time.NewTicker(lease / 3)
	defer renewal.Stop()
	for {
		select {
		case o := <-done:
			v.finish(id, o)
			return
		case <-w.wake:
			if e, _, err := v.entries.read(ctx, id); err == nil && e.Status == mcp.TaskCancelled {
				cancel()
			}
		case <-renewal.C:
			_, _ = v.entries.swap(ctx, id, func(e *entry) error {
				e.Lease = time.Now().Add(lease)
				return nil
			}, nil)
		}
	}
}

type outcomeOfQuestion struct {
	result any
	err    error
}

// finish writes the outcome of a question into the entry, unless the task has ended before.
func (v *receiver) finish(id string, o outcomeOfQuestion) {
	raw, err := json.Marshal(o.result, json.Deterministic(true))
	if o.err != nil {
		err = o.err
	}
	_, _ = v.entries.change(context.Background(), id, func(e *entry) error {
		if e.Status.Terminal() {
			return errEnded
		}
		if err == nil {
			e.end(mcp.TaskCompleted, "")
			e.Result = raw
			return nil
		}
		e.Error = failureOf(err).fit(maxFailure)
		e.end(mcp.TaskFailed, statusText(e.Error.Message))
		return nil
	})
}

// failureOf returns the error that is sent to the server.
func failureOf(err error) *Failure {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		return &Failure{Code: -32603, Message: "internal error"}
	}
	f := &Failure{Code: -32603, Message: e.Message, Data: e.Data}
	switch e.Code {
	case mcp.CodeRejected:
		f.Code = -1
	case mcp.CodeInvalidParams:
		f.Code = -32602
	case mcp.CodeMethodNotFound:
		f.Code = -32601
	}
	return f
}

// requests returns the handlers of requests of servers about their tasks.
func (v *receiver) requests() map[string]mcpclient.Handler {
	return map[string]mcpclient.Handler{
		mcp.MethodTasksGet: func(ctx context.Context, r *mcpclient.Request) (any, error) {
			e, err := v.find(ctx, r)
			if err != nil {
				return nil, err
			}
			return &mcp.TaskResult{Task: e.core()}, nil
		},
		mcp.MethodTasksResult: v.result,
		mcp.MethodTasksCancel: v.cancel,
		mcp.MethodTasksList:   v.list,
	}
}

// find returns the task that a request names.
func (v *receiver) find(ctx context.Context, r *mcpclient.Request) (*entry, error) {
	var p mcp.TaskParams
	raw, _ := r.Params.(jsontext.Value)
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: params: %v", r.Method, err)
	}
	e, err := v.entries.load(ctx, p.TaskID)
	if isUnknown(err) || err == nil && e.Owner != ownerName(r.Client()) {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: unknown task", r.Method)
	}
	return e, err
}

// result waits for the end of a task.
func (v *receiver) result(ctx context.Context, r *mcpclient.Request) (any, error) {
	e, err := v.find(ctx, r)
	if err != nil {
		return nil, err
	}
	w := v.entries.watch(e.ID)
	defer w.stop()
	for {
		if e, err = v.find(ctx, r); err != nil {
			return nil, err
		}
		if e.Status.Terminal() {
			return answerOf(e)
		}
		if err := w.wait(ctx, e.Expires); err != nil {
			return nil, err
		}
	}
}

// answerOf returns the answer to the question of a task that has ended.
func answerOf(e *entry) (any, error) {
	switch {
	case e.Error != nil:
		code := codeOf(e.Error.Code)
		if e.Error.Code == -1 {
			code = mcp.CodeRejected
		}
		return nil, &mcp.Error{Code: code, Number: e.Error.Code, Message: e.Error.Message, Data: e.Error.Data}
	case e.Status == mcp.TaskCancelled:
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "the task was cancelled")
	}
	var result mcp.Result = new(mcp.ElicitResult)
	if e.Method == mcp.MethodCreateMessage {
		result = new(mcp.CreateMessageResult)
	}
	if err := json.Unmarshal(e.Result, result); err != nil {
		return nil, fmt.Errorf("tasks/result: %w", err)
	}
	result.Base().Meta = relatedTo(e.ID)
	return result, nil
}

func (v *receiver) cancel(ctx context.Context, r *mcpclient.Request) (any, error) {
	e, err := v.find(ctx, r)
	if err != nil {
		return nil, err
	}
	if e, err = v.entries.cancel(ctx, e.ID); err == errEnded {
		err = mcp.Errorf(mcp.CodeInvalidParams, "%s: the task has ended with status %s", r.Method, e.Status)
	}
	if err != nil {
		return nil, err
	}
	return &mcp.TaskResult{Task: e.core()}, nil
}

func (v *receiver) list(ctx context.Context, r *mcpclient.Request) (any, error) {
	var p mcp.ListParams
	if raw, _ := r.Params.(jsontext.Value); len(raw) > 0 && json.Unmarshal(raw, &p) != nil || p.Cursor != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: unknown cursor", r.Method)
	}
	v.mu.Lock()
	ids := v.of(r.Client())
	v.mu.Unlock()
	result := &mcp.ListTasksResult{Tasks: []mcp.Task{}}
	for _, id := range ids {
		if e, err := v.entries.load(ctx, id); err == nil {
			result.Tasks = append(result.Tasks, e.core())
		}
	}
	return result, nil
}
