package tasks

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// This file sends requests as tasks of 2025-11-25, from a client and from a server.

// maxSupports bounds the tools of which a client stores the task support.
const maxSupports = 10_000

// supports stores the task support of listed tools.
type supports struct {
	mu    sync.Mutex
	tools map[string]mcp.TaskSupport // guarded by mu
}

// learn records the task support of one page of tools.
func (s *supports) learn(raw jsontext.Value) {
	var page struct {
		Tools []struct {
			Name      string             `json:"name"`
			Execution *mcp.ToolExecution `json:"execution"`
		} `json:"tools"`
	}
	if json.Unmarshal(raw, &page) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools == nil {
		s.tools = make(map[string]mcp.TaskSupport)
	}
	for _, t := range page.Tools {
		if t.Execution != nil && len(s.tools) < maxSupports {
			s.tools[t.Name] = t.Execution.TaskSupport
		} else {
			delete(s.tools, t.Name)
		}
	}
}

func (s *supports) of(tool string) mcp.TaskSupport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[tool]
}

// takesCore reports whether a request is a tool call to a server that supports such calls
// as tasks of 2025-11-25.
func takesCore(c *mcpclient.Client, r *mcpclient.Request) bool {
	return r.Method == mcp.MethodToolsCall && c.Revision().HasCoreTasks() && c.Capabilities().Tasks.Takes(mcp.MethodToolsCall)
}

// callCore calls a tool. It requests a task if the tool requires one, or if the caller is
// Call and the tool supports one. Params that have task metadata already are not changed.
//
// Spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation
func (h *clientHalf) callCore(ctx context.Context, c *mcpclient.Client, r *mcpclient.Request, s *supports, next mcpclient.Exchange) (mcp.ResultType, jsontext.Value, error) {
	p, ok := r.Params.(*mcp.CallToolParams)
	if !ok || p.Task != nil || !asks(ctx, s.of(p.Name)) {
		return next(ctx, r)
	}
	augmented := *p
	augmented.Task = h.requestedTask()
	r.Params = &augmented
	defer func() { r.Params = p }()
	kind, raw, err := next(ctx, r)
	if err != nil {
		return kind, raw, err
	}
	var created mcp.CreateTaskResult
	if json.Unmarshal(raw, &created) != nil || created.Task.TaskID == "" {
		return kind, raw, nil // the server did not make it a task
	}
	flat, err := json.Marshal(fromCore(created.Task))
	if err != nil {
		return "", nil, err
	}
	return h.follow(ctx, c, flat)
}

// asks reports whether to call a tool as a task.
func asks(ctx context.Context, support mcp.TaskSupport) bool {
	byHand, _ := ctx.Value(byHandKey{}).(bool)
	return support == mcp.TaskRequired || support == mcp.TaskOptional && byHand
}

func (h *clientHalf) requestedTask() *mcp.TaskMetadata {
	if ttl := h.o.orZero().TTL; ttl > 0 {
		return &mcp.TaskMetadata{TTL: new(ttl.Milliseconds())}
	}
	return new(mcp.TaskMetadata)
}

// fromCore returns a task of 2025-11-25 in the form of the extension.
func fromCore(t mcp.Task) Task {
	return Task{
		TaskID: t.TaskID, Status: t.Status, StatusMessage: t.StatusMessage, CreatedAt: t.CreatedAt,
		LastUpdatedAt: t.LastUpdatedAt, TTLMs: t.TTL, PollIntervalMs: t.PollInterval,
	}
}

// errNotYet: the server did not answer tasks/result within the time of a call.
var errNotYet = errors.New("not yet")

// fetch gets the result of a task of 2025-11-25. Meanwhile the server may send questions.
func (h *Handle) fetch(ctx context.Context) (raw jsontext.Value, err error) {
	err = h.c.Request(ctx, mcp.MethodTasksResult, &mcp.TaskParams{TaskID: h.ID()}, &raw)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, errNotYet
	}
	return raw, err
}

// Request sends an elicitation or a sampling request to the client. If the client speaks
// 2025-11-25 and supports that request as a task, Request sends it as a task and waits
// for its end; otherwise it is like mcpserver.Request.Call. Params are *mcp.ElicitParams
// or *mcp.CreateMessageParams. If ctx ends, Request cancels the task.
func Request(ctx context.Context, method string, params, out any) error {
	r := mcpserver.From(ctx)
	augmented, ok := withTask(params)
	if !ok || !r.Revision().HasCoreTasks() || !r.Capabilities().Tasks.Takes(method) {
		return r.Call(ctx, method, params, out)
	}
	var created mcp.CreateTaskResult
	if err := r.Call(ctx, method, augmented, &created); err != nil {
		return err
	}
	if created.Task.TaskID == "" {
		return fmt.Errorf("%s: invalid answer: want a task", method)
	}
	return awaitPeer(ctx, r, created.Task, out)
}

// withTask returns params that request a task.
func withTask(params any) (any, bool) {
	switch p := params.(type) {
	case *mcp.ElicitParams:
		out := *p
		out.Task = new(mcp.TaskMetadata)
		return &out, true
	case *mcp.CreateMessageParams:
		out := *p
		out.Task = new(mcp.TaskMetadata)
		return &out, true
	}
	return nil, false
}

// awaitPeer polls a task of the client until it ends, and decodes its result into out.
func awaitPeer(ctx context.Context, r *mcpserver.Request, t mcp.Task, out any) error {
	id := &mcp.TaskParams{TaskID: t.TaskID}
	for !t.Status.Terminal() {
		if err := pause(ctx, fromCore(t).pause(), nil); err != nil {
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
			defer cancel()
			_ = r.Call(bounded, mcp.MethodTasksCancel, id, nil)
			return err
		}
		var got mcp.TaskResult
		if err := r.Call(ctx, mcp.MethodTasksGet, id, &got); err != nil {
			return err
		}
		t = got.Task
	}
	return r.Call(ctx, mcp.MethodTasksResult, id, out)
}
