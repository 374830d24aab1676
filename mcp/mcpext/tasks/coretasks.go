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
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// This file implements the tasks in the core of 2025-11-25 for servers.

// declareCore declares the capability of core tasks.
//
// Spec: 2025-11-25 basic/utilities/tasks#capabilities
func declareCore(c *mcp.ServerCapabilities) {
	c.Tasks = &mcp.TasksCapability{
		List: new(mcp.Capability), Cancel: new(mcp.Capability),
		Requests: &mcp.TaskRequests{Tools: &mcp.ToolTaskRequests{Call: new(mcp.Capability)}},
	}
}

// relatedTo is the metadata of messages that belong to a task.
func relatedTo(id string) mcp.Meta {
	raw, _ := json.Marshal(mcp.RelatedTask{TaskID: id})
	return mcp.Meta{mcp.MetaRelatedTask: raw}
}

func (t *Tasks) coreGet(ctx context.Context, r *mcpserver.Request) (any, error) {
	var p mcp.TaskParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	e, err := t.find(ctx, r, p.TaskID)
	if err != nil {
		return nil, err
	}
	return &mcp.TaskResult{Task: e.core()}, nil
}

// coreCancel handles tasks/cancel. It cancels the task before the reply. It is an error
// if the task has ended.
func (t *Tasks) coreCancel(ctx context.Context, r *mcpserver.Request) (any, error) {
	e, err := t.cancelled(ctx, r)
	if err == errEnded {
		err = mcp.Errorf(mcp.CodeInvalidParams, "%s: the task has ended with status %s", r.Method(), e.Status)
	}
	if err != nil {
		return nil, err
	}
	return &mcp.TaskResult{Task: e.core()}, nil
}

// pageSize is the number of tasks on one page of a list.
const pageSize = 100

// coreList handles tasks/list. It lists the tasks of the principal from all replicas, the
// oldest first. Tasks of anonymous clients are not listed, because these clients cannot
// be distinguished, except those of the local user.
//
// Spec: 2025-11-25 basic/utilities/tasks#task-isolation-and-access-control
func (t *Tasks) coreList(ctx context.Context, r *mcpserver.Request) (any, error) {
	var p mcp.ListParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	var tasks []indexEntry
	if t.lists(r) {
		var err error
		if tasks, _, err = t.entries.index(ctx, ownerOf(r)); err != nil {
			return nil, err
		}
	}
	if p.Cursor != nil {
		last, ok := parseCursor(*p.Cursor)
		if !ok {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: unknown cursor; want the nextCursor of the last page, or none", r.Method())
		}
		tasks = slices.DeleteFunc(tasks, func(e indexEntry) bool { return e.compare(last) <= 0 })
	}
	result := &mcp.ListTasksResult{Tasks: []mcp.Task{}}
	for i, listed := range tasks {
		if i == pageSize {
			result.NextCursor = new(tasks[i-1].cursor())
			break
		}
		switch e, err := t.entries.load(ctx, listed.ID); {
		case err == nil:
			result.Tasks = append(result.Tasks, e.core())
		case !isUnknown(err):
			return nil, err
		}
	}
	return result, nil
}

// lists reports whether the tasks of a request's principal are listed.
func (t *Tasks) lists(r *mcpserver.Request) bool {
	return t.o.core() && r.Principal() != mcp.PrincipalAnonymous
}

// coreResult handles tasks/result. It waits for the end of the task, sends its questions
// to the client meanwhile, and returns the result of the call.
//
// Spec: 2025-11-25 basic/utilities/tasks#retrieving-task-results
func (t *Tasks) coreResult(ctx context.Context, r *mcpserver.Request) (any, error) {
	var p mcp.TaskParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if _, err := t.find(ctx, r, p.TaskID); err != nil {
		return nil, err
	}
	w := t.entries.watch(p.TaskID)
	defer w.stop()
	for {
		e, err := t.find(ctx, r, p.TaskID)
		switch {
		case err != nil:
			return nil, err
		case e.Status.Terminal():
			return outcomeOf(e)
		case len(e.Open) > 0:
			err = t.putAll(ctx, r, e)
		default:
			err = w.wait(ctx, e.Expires)
		}
		if err != nil {
			return nil, err
		}
	}
}

// outcomeOf returns the result or the error of an ended task.
func outcomeOf(e *entry) (mcp.Result, error) {
	switch {
	case e.Error != nil:
		return nil, &mcp.Error{Code: codeOf(e.Error.Code), Number: e.Error.Code, Message: e.Error.Message, Data: e.Error.Data}
	case e.Status == mcp.TaskCancelled:
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "the task was cancelled")
	}
	var result mcp.CallToolResult
	if err := json.Unmarshal(e.Result, &result); err != nil {
		return nil, fmt.Errorf("tasks/result: %w", err)
	}
	result.ResultType = ""
	return &result, nil
}

// codeOf returns the code of an error number of 2025-11-25. Other numbers belong to the
// application.
func codeOf(number int64) mcp.Code {
	switch number {
	case -32600:
		return mcp.CodeInvalidRequest
	case -32601:
		return mcp.CodeMethodNotFound
	case -32602:
		return mcp.CodeInvalidParams
	case -32603:
		return mcp.CodeInternal
	case -32002:
		return mcp.CodeResourceNotFound
	}
	return mcp.CodeOther
}

// putAll sends the open questions of a task to the client, one at a time, as requests of
// the session era, and stores the answers.
func (t *Tasks) putAll(ctx context.Context, r *mcpserver.Request, e *entry) error {
	for key, q := range e.Open {
		asking, stop := t.whileOpen(ctx, e.ID, key)
		a, err := put(asking, r, e, q)
		stop()
		if context.Cause(asking) == errMoot {
			return nil
		}
		if err != nil {
			return err
		}
		err = t.entries.answer(ctx, e.ID, map[string]answer{key: a})
		if err != nil && e.Call && !lasts(err) {
			return errNotStored // the question is asked again
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errMoot cancels a question whose answer the task no longer needs.
var errMoot = errors.New("the task no longer needs the answer")

// whileOpen returns a context that ends when the question is no longer open: the task has
// ended, or another request has answered. The caller must call stop.
func (t *Tasks) whileOpen(ctx context.Context, id, key string) (open context.Context, stop func()) {
	open, cancel := context.WithCancelCause(ctx)
	w := t.entries.watch(id)
	var watching sync.WaitGroup
	watching.Go(func() {
		for open.Err() == nil {
			if e, err := t.entries.load(open, id); isUnknown(err) || err == nil && !e.asks(key) {
				cancel(errMoot)
			}
			_ = w.wait(open, time.Now().Add(lease))
		}
	})
	return open, func() {
		cancel(nil)
		watching.Wait()
		w.stop()
	}
}

// put sends one question to the client. An error of the client is an answer, too.
func put(ctx context.Context, r *mcpserver.Request, e *entry, q mcp.InputRequest) (answer, error) {
	params, err := relate(q, e)
	if err != nil {
		return answer{}, err
	}
	var raw jsontext.Value
	err = r.Call(ctx, q.Method, params, &raw)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote {
		return answer{Failure: &Failure{Code: e.Number, Message: e.Message, Data: e.Data}}, nil
	}
	return answer{Value: raw}, err
}

// relate decodes the params of a question and adds the id of its task to their metadata. A call
// has no id that its client knows.
func relate(q mcp.InputRequest, e *entry) (any, error) {
	params, err := q.DecodeParams()
	if err != nil || e.Call {
		return params, err
	}
	id := e.ID
	switch p := params.(type) {
	case *mcp.ElicitParams:
		p.Meta = relatedTo(id)
	case *mcp.CreateMessageParams:
		p.Meta = relatedTo(id)
	case *mcp.EmptyParams:
		p.Meta = relatedTo(id)
	}
	return params, nil
}
