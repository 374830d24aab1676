package tasks

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// ClientOptions are the options of Client. Nil means the defaults.
type ClientOptions struct {
	// OnTask is called with each task that a call of this client became, before the
	// first poll, so that its id can be stored for Resume.
	OnTask func(ctx context.Context, c *mcpclient.Client, t Task)
	// OnStatus is called with each new state of a task that a call waits for, on the
	// goroutine of the call.
	OnStatus func(ctx context.Context, c *mcpclient.Client, t Task)
	// TTL is the time to live that the client requests in 2025-11-25. Default: the
	// server chooses it.
	TTL time.Duration
	// NoCore turns off the experimental tasks in the core of 2025-11-25.
	NoCore bool
}

func (o *ClientOptions) orZero() *ClientOptions {
	if o == nil {
		return new(ClientOptions)
	}
	return o
}

func (o *ClientOptions) core() bool { return !o.orZero().NoCore }

// Client returns the extension for mcpclient.Options.Extensions. It declares that tool
// calls may become tasks, and polls such tasks until they end. In 2025-11-25, in which
// the client decides, it calls only those tools as tasks that require it; there it also
// accepts questions of servers as tasks.
//
// If the context of a call ends, the client cancels its task.
func Client(o *ClientOptions) mcpclient.Extension {
	o = new(*o.orZero())
	h := &clientHalf{o: o, waiting: make(map[string]chan struct{}), receiver: receiver{entries: &entryStore{store: new(mcpserver.MemoryStore)}}}
	e := mcpclient.Extension{
		ID:          ID,
		Names:       map[string]string{mcp.MethodTasksGet: "taskId", MethodUpdate: "taskId", mcp.MethodTasksCancel: "taskId"},
		ResultTypes: []mcp.ResultType{ResultTask},
		Exchange:    h.exchange,
		Notifications: map[string]func(context.Context, *mcpclient.Client, jsontext.Value){
			Notification: h.noticed, mcp.NotificationTaskStatus: h.noticed,
		},
	}
	if o.core() {
		e.Capabilities = declareReceiver
		e.Middleware = h.receiver.receive
		e.Requests = h.receiver.requests()
	}
	return e
}

// clientHalf is the client side of the extension.
type clientHalf struct {
	o        *ClientOptions
	receiver receiver

	mu      sync.Mutex
	waiting map[string]chan struct{} // guarded by mu: by task, one token: there is news
}

// exchange sends a request. If the call becomes a task, it waits for the end of the task.
func (h *clientHalf) exchange(c *mcpclient.Client, next mcpclient.Exchange) mcpclient.Exchange {
	supports := new(supports)
	return func(ctx context.Context, r *mcpclient.Request) (mcp.ResultType, jsontext.Value, error) {
		if h.o.core() && takesCore(c, r) {
			return h.callCore(ctx, c, r, supports, next)
		}
		kind, raw, err := next(ctx, r)
		switch {
		case err != nil:
			return kind, raw, err
		case r.Method == mcp.MethodToolsList && h.o.core() && c.Revision().HasCoreTasks():
			supports.learn(raw)
		case kind == ResultTask && r.Method == mcp.MethodToolsCall:
			return h.follow(ctx, c, raw)
		}
		return kind, raw, nil
	}
}

// follow waits for the end of the task in a result. For Call, it returns the task
// instead.
func (h *clientHalf) follow(ctx context.Context, c *mcpclient.Client, raw jsontext.Value) (mcp.ResultType, jsontext.Value, error) {
	var t Task
	if err := json.Unmarshal(raw, &t); err != nil {
		return "", nil, errors.New("invalid response: the result is not a valid task")
	}
	handle := &Handle{c: c, first: t, half: h}
	if f := h.o.orZero().OnTask; f != nil {
		f(ctx, c, t)
	}
	if byHand, _ := ctx.Value(byHandKey{}).(bool); byHand {
		return "", nil, &began{handle}
	}
	result, err := handle.outcome(ctx)
	if ctx.Err() != nil {
		handle.giveUp(ctx)
	}
	return mcp.ResultComplete, result, err
}

// noticed wakes the call that waits for the task of a notification.
func (h *clientHalf) noticed(_ context.Context, _ *mcpclient.Client, params jsontext.Value) {
	var t Task
	if json.Unmarshal(params, &t) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.waiting[t.TaskID] <- struct{}{}:
	default:
	}
}

// await registers for notifications about a task.
func (h *clientHalf) await(id string) (news <-chan struct{}, stop func()) {
	if h == nil {
		return nil, func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.waiting[id]
	if c == nil {
		c = make(chan struct{}, 1)
		h.waiting[id] = c
	}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiting, id)
	}
}
