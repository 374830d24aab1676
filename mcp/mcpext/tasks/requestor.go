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

// This file sends requests as tasks of 2025-11-25, from a client and from a
// server.

// maxSupports bounds the tools that a client remembers to be callable as tasks.
const maxSupports = 10_000

// supports remembers which tools may be called as tasks.
type supports struct {
	mu    sync.Mutex
	tools map[string]mcp.TaskSupport // guarded by mu
}

// learn takes note of one page of tools.
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

// takesCore reports whether a request is the call of a tool, to a server that
// takes such calls as tasks of 2025-11-25.
func takesCore(c *mcpclient.Client, r *mcpclient.Request) bool {
	return r.Method == mcp.MethodToolsCall && hasCore(c.Revision()) && c.Capabilities().Tasks.Takes(mcp.MethodToolsCall)
}

// callCore calls a tool, as a task where it has to be one, or where the caller
// wants one and it may be. What the caller asks for by itself is left to it.
//
// Spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation
func (h *half) callCore(ctx context.Context, c *mcpclient.Client, r *mcpclient.Request, s *supports, next mcpclient.Exchange) (mcp.ResultType, jsontext.Value, error) {
	p, ok := r.Params.(*mcp.CallToolParams)
	if !ok || p.Task != nil || !asks(ctx, s.of(p.Name)) {
		return next(ctx, r)
	}
	augmented := *p
	augmented.Task = h.wish()
	r.Params = &augmented
	defer func() { r.Params = p }()
	kind, raw, err := next(ctx, r)
	if err != nil {
		return kind, raw, err
	}
	var created mcp.CreateTaskResult
	if json.Unmarshal(raw, &created) != nil || created.Task.TaskID == "" {
		return kind, raw, nil // the server has ignored the wish
	}
	flat, err := json.Marshal(fromCore(created.Task))
	if err != nil {
		return "", nil, err
	}
	return h.follow(ctx, c, flat)
}

// asks reports whether a tool is called as a task.
func asks(ctx context.Context, support mcp.TaskSupport) bool {
	byHand, _ := ctx.Value(byHandKey{}).(bool)
	return support == mcp.TaskRequired || support == mcp.TaskOptional && byHand
}

func (h *half) wish() *mcp.TaskMetadata {
	if ttl := h.o.orZero().TTL; ttl > 0 {
		return &mcp.TaskMetadata{TTL: new(ttl.Milliseconds())}
	}
	return new(mcp.TaskMetadata)
}

// fromCore returns a task of 2025-11-25 in the shapes of the extension.
func fromCore(t mcp.Task) Task {
	return Task{
		TaskID: t.TaskID, Status: t.Status, StatusMessage: t.StatusMessage, CreatedAt: t.CreatedAt,
		LastUpdatedAt: t.LastUpdatedAt, TTLMs: t.TTL, PollIntervalMs: t.PollInterval,
	}
}

// errNotYet: the server did not answer tasks/result within the time of a call.
var errNotYet = errors.New("not yet")

// fetch gets the result of a task of 2025-11-25. Meanwhile the server may ask.
func (h *Handle) fetch(ctx context.Context) (raw jsontext.Value, err error) {
	err = h.c.Request(ctx, mcp.MethodTasksResult, &mcp.TaskParams{TaskID: h.ID()}, &raw)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, errNotYet
	}
	return raw, err
}

// Request sends an elicitation or a request to the client's model as a task, where the
// client of 2025-11-25 takes it as one, and waits for its end; otherwise it is
// mcpserver.Request.Call. Params are *mcp.ElicitParams or *mcp.CreateMessageParams.
// When ctx ends, the task is cancelled.
func Request(ctx context.Context, method string, params, out any) error {
	r := mcpserver.From(ctx)
	augmented, ok := withTask(params)
	if !ok || !hasCore(r.Revision()) || !r.Capabilities().Tasks.Takes(method) {
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

// withTask returns params that ask for a task.
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

// awaitPeer polls a task of the client to its end and takes its result.
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
