package tasks

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// ErrCancelled is the error of Wait for a task that was cancelled.
var ErrCancelled = errors.New("the task was cancelled")

// Handle is a task of a server. Its methods are safe for concurrent use, except that only
// one Wait may run at a time, because two would answer the same questions.
type Handle struct {
	c      *mcpclient.Client
	half   *clientHalf
	first  Task
	result *mcp.CallToolResult // set if the call did not become a task
}

// Call calls a tool like mcpclient.Client.CallTool, but returns as soon as the call has
// become a task. In 2025-11-25 it requests a task if the tool was listed before and
// supports tasks.
func Call(ctx context.Context, c *mcpclient.Client, name string, args any, opts ...mcpclient.CallOption) (*Handle, error) {
	result, err := c.CallTool(context.WithValue(ctx, byHandKey{}, true), name, args, opts...)
	if b, ok := errors.AsType[*began](err); ok {
		return b.handle, nil
	}
	if err != nil {
		return nil, err
	}
	return &Handle{c: c, result: result}, nil
}

// Resume returns the handle of a task with the given id, which another process may have
// stored. It sends nothing.
func Resume(c *mcpclient.Client, id string) *Handle { return &Handle{c: c, first: Task{TaskID: id}} }

type byHandKey struct{}

// began is the error that returns a task from a call to Call.
type began struct{ handle *Handle }

func (b *began) Error() string { return "the call became a task" }

// ID returns the id of the task, or "" if the call did not become a task. The id can be a
// credential: a server may accept requests about the task from anyone who knows it.
func (h *Handle) ID() string { return h.first.TaskID }

// Get requests the state of the task. In 2025-11-25 the state has neither questions nor a
// result.
func (h *Handle) Get(ctx context.Context) (Task, error) {
	if h.ID() == "" {
		return Task{}, errors.New("tasks/get: the call did not become a task")
	}
	if h.core() {
		var r mcp.TaskResult
		err := h.c.Request(ctx, mcp.MethodTasksGet, &mcp.TaskParams{TaskID: h.ID()}, &r)
		return fromCore(r.Task), err
	}
	var r taskResult
	err := h.c.Request(ctx, mcp.MethodTasksGet, &mcp.TaskParams{TaskID: h.ID()}, &r)
	return r.Task, err
}

// Update answers questions of the task, under the keys of its InputRequests. In
// 2025-11-25 it is an error: the server sends its questions as requests during Wait.
func (h *Handle) Update(ctx context.Context, answers map[string]jsontext.Value) error {
	return h.c.Request(ctx, MethodUpdate, &updateParams{TaskID: h.ID(), InputResponses: answers}, nil)
}

// Cancel requests that the server cancels the task. The server may ignore that.
func (h *Handle) Cancel(ctx context.Context) error {
	return h.c.Request(ctx, mcp.MethodTasksCancel, &mcp.TaskParams{TaskID: h.ID()}, nil)
}

// Wait polls the task until it ends, answers its questions with the handlers of the
// client, and returns the result of the call. If the task was cancelled, the error is
// ErrCancelled; if the call failed, it is the error of the call. If ctx ends, Wait
// returns, and the task continues.
func (h *Handle) Wait(ctx context.Context) (*mcp.CallToolResult, error) {
	if h.result != nil {
		return h.result, nil
	}
	raw, err := h.outcome(ctx)
	result := new(mcp.CallToolResult)
	if err == nil {
		err = json.Unmarshal(raw, result)
	}
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return result, nil
}

// core reports whether the task is one of 2025-11-25.
func (h *Handle) core() bool {
	_, extension := h.c.HasExtension(ID)
	return !extension
}

// outcome polls the task until it ends.
//
// Spec: ext-tasks draft#task-polling
func (h *Handle) outcome(ctx context.Context) (jsontext.Value, error) {
	news, stop := h.half.await(h.ID())
	defer stop()
	answered := make(map[string]bool)
	t, listening := h.first, false
	for {
		if t.Status != "" && !t.Status.Terminal() {
			if !listening && t.pause() > defaultPoll && !h.core() {
				listening = true
				defer h.listen(ctx)()
			}
			if err := pause(ctx, t.pause(), news); err != nil {
				return nil, err
			}
		}
		var err error
		if t, err = h.Get(ctx); err != nil {
			return nil, err
		}
		if f := h.half.onStatus(); f != nil {
			f(ctx, h.c, t)
		}
		switch {
		case h.core() && t.Status != mcp.TaskWorking:
			raw, err := h.fetch(ctx)
			if !errors.Is(err, errNotYet) {
				return raw, err
			}
		case t.Status.Terminal():
			return h.end(t)
		case t.Status == mcp.TaskInputRequired:
			if err := h.answer(ctx, t, answered); err != nil {
				return nil, err
			}
		}
	}
}

func (h *clientHalf) onStatus() func(context.Context, *mcpclient.Client, Task) {
	if h == nil {
		return nil
	}
	return h.o.orZero().OnStatus
}

// pause waits until the next poll is due or the server has notified of a change.
func pause(ctx context.Context, d time.Duration, news <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-news:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listen subscribes to the states of a task with a long poll interval. If that fails, the
// next poll finds the change.
//
// Spec: ext-tasks draft#task-status-notifications
func (h *Handle) listen(ctx context.Context) (stop func()) {
	ids, err := json.Marshal(map[string][]string{"taskIds": {h.ID()}})
	if err != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	began := h.c.Go(func(context.Context) {
		defer close(ended)
		filter := mcp.SubscriptionFilter{Extra: ids}
		_ = h.c.Request(ctx, mcp.MethodListen, &mcp.ListenParams{Notifications: filter}, nil, mcpclient.WithTimeout(-1))
	})
	return func() {
		cancel()
		if began {
			<-ended
		}
	}
}

// answer answers the open questions that were not answered before.
//
// Spec: ext-tasks draft#task-update-requests
func (h *Handle) answer(ctx context.Context, t Task, answered map[string]bool) error {
	answers := make(map[string]jsontext.Value)
	for _, key := range slices.Sorted(maps.Keys(t.InputRequests)) {
		if answered[key] {
			continue
		}
		raw, err := h.c.Answer(ctx, key, t.InputRequests[key])
		if err != nil {
			if ctx.Err() == nil { // the question can never be answered
				h.giveUp(ctx)
			}
			return err
		}
		answers[key], answered[key] = raw, true
	}
	if len(answers) == 0 {
		return nil
	}
	return h.Update(ctx, answers)
}

// end returns the result of an ended task.
func (h *Handle) end(t Task) (jsontext.Value, error) {
	switch {
	case t.Status == mcp.TaskCancelled:
		return nil, ErrCancelled
	case t.Status == mcp.TaskFailed && t.Error != nil:
		return nil, h.c.RemoteError(t.Error.Code, t.Error.Message, t.Error.Data)
	case t.Status == mcp.TaskFailed || t.Result == nil:
		return nil, fmt.Errorf("invalid response: the task has status %s, want a result or an error with it", t.Status)
	}
	return t.Result, nil
}

// giveUpTimeout bounds the cancellation of a task after its call has ended.
const giveUpTimeout = 5 * time.Second

// giveUp cancels a task whose call has ended.
func (h *Handle) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
	defer cancel()
	_ = h.Cancel(ctx)
}
