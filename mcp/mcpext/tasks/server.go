package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/durable"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Options are the options of Enable. Nil means the defaults.
type Options struct {
	// TTL is how long a task is stored after its creation, whether or not it has
	// ended by then. Default: 1 hour.
	TTL time.Duration
	// MaxTTL is the maximum that clients of 2025-11-25 may request. Default: 24 hours.
	MaxTTL time.Duration
	// Poll is the time between polls that clients are told to observe. Default: 1
	// second.
	Poll time.Duration
	// MaxTasks bounds the unexpired tasks that this process has made, and
	// MaxPerPrincipal those of one authenticated principal, or else of one session.
	// Requests for more are refused. Default: 4,096 and 256.
	MaxTasks        int
	MaxPerPrincipal int
	// MaxBytes bounds the bytes of the unexpired tasks that this process has made, with
	// their answers and results. Each task counts with the most bytes that it has had in
	// the Store. When there are more, the newest task of the owner with the most bytes is
	// cancelled and deleted; if no other owner has more, the task that needs the room fails.
	// Default: 128 MiB.
	MaxBytes int
	// MaxQuestions bounds the questions that one task asks. Further ones fail.
	// Default: 64.
	MaxQuestions int
	// MaxResult bounds the encoded result of a task, in bytes. With a larger one the
	// task fails. Default: 512 KiB, because the value of a Store is limited.
	MaxResult int
	// NoCore turns off the experimental tasks in the core of 2025-11-25.
	NoCore bool
	// Durable are the options of tasks that survive the process that runs them: those of tools
	// with the option mcpserver.Durable.
	Durable *DurableOptions
	// Logger gets an audit line for each task that begins, ends or is cancelled, at
	// level Info. Default: slog.Default().
	Logger *slog.Logger
}

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

func (o *Options) ttl() time.Duration    { return cmp.Or(o.orZero().TTL, time.Hour) }
func (o *Options) maxTTL() time.Duration { return cmp.Or(o.orZero().MaxTTL, 24*time.Hour) }
func (o *Options) poll() time.Duration   { return cmp.Or(o.orZero().Poll, defaultPoll) }
func (o *Options) maxTasks() int         { return cmp.Or(o.orZero().MaxTasks, 4096) }
func (o *Options) perPrincipal() int     { return cmp.Or(o.orZero().MaxPerPrincipal, 256) }
func (o *Options) maxBytes() int         { return cmp.Or(o.orZero().MaxBytes, 128<<20) }
func (o *Options) maxQuestions() int     { return cmp.Or(o.orZero().MaxQuestions, 64) }
func (o *Options) maxResult() int        { return cmp.Or(o.orZero().MaxResult, 512<<10) }
func (o *Options) core() bool            { return !o.orZero().NoCore }
func (o *Options) logger() *slog.Logger  { return cmp.Or(o.orZero().Logger, slog.Default()) }

// Tasks are the tasks of one server.
type Tasks struct {
	o       *Options
	entries *entryStore
	srv     *mcpserver.Server
	queue   *durable.Queue
	lease   *durable.Lease
	places  *places

	pool  *limit.Pool // counts stored tasks by owner
	bytes *limit.Pool // counts their bytes by owner

	mu      sync.Mutex
	kept    map[string]*kept // guarded by mu: by id
	running map[string]bool  // guarded by mu: durable tasks that this process runs, by id
	evicted []string         // guarded by mu: those that made room and are still in the store

	ordinary sync.Once // logs a call that cannot be durable
}

// kept says until when a task of this process counts, and how to end it.
type kept struct {
	expires time.Time
	place   *limit.Place            // guarded by the mu of Tasks
	bytes   *limit.Place            // set before the task is stored
	end     context.CancelCauseFunc // of its work, while that runs; guarded by the mu of Tasks

	reserving sync.Mutex
	size      int // guarded by reserving: of bytes
}

// Enable adds tasks to a server: the extension, and unless Options.NoCore is set, the
// tasks of 2025-11-25. They are stored in the server's Store. Its Bus notifies the other
// replicas of answers and cancellations; without a Bus that takes up to 10 seconds.
// Enable panics if the server has tasks already, and if DurableOptions are out of their ranges.
func Enable(srv *mcpserver.Server, o *Options) *Tasks {
	o = new(*o.orZero())
	if o.Durable != nil {
		o.Durable = new(*o.Durable)
	}
	o.Durable.check()
	o.Logger = usercode.Logger(o.logger())
	t := &Tasks{o: o, srv: srv, entries: &entryStore{store: srv.Store(), bus: srv.Bus(), sealer: srv}}
	t.kept, t.running = make(map[string]*kept), make(map[string]bool)
	t.entries.reserve = t.reserve
	t.queue = durable.NewQueue(srv.Store(), "task", srv.Info().Name)
	t.lease = durable.NewLease(t.queue)
	t.places = newPlaces(o.Durable.maxTaken())
	t.bytes = limit.NewPool(limit.PoolBounds{Total: int64(o.maxBytes())})
	t.pool = limit.NewPool(limit.PoolBounds{Total: int64(o.maxTasks()), Each: int64(o.perPrincipal())})
	e := mcpserver.Extension{
		ID: ID,
		Requests: map[string]mcpserver.ExtensionRequest{
			mcp.MethodTasksGet:    {Handler: t.get, Name: "taskId"},
			MethodUpdate:          {Handler: t.update, Name: "taskId"},
			mcp.MethodTasksCancel: {Handler: t.cancel, Name: "taskId"},
		},
		ResultTypes: []mcp.ResultType{ResultTask},
		Filters:     map[string]mcpserver.Filter{"taskIds": t.listen},
		Worker:      t.work,
		Continue:    t.continueCall,
		Abandon:     t.abandonCall,
	}
	if o.core() {
		e.Core = map[string]mcpserver.Handler{
			mcp.MethodTasksGet:    t.coreGet,
			mcp.MethodTasksResult: t.coreResult,
			mcp.MethodTasksList:   t.coreList,
			mcp.MethodTasksCancel: t.coreCancel,
			// Clients may send the status of their core tasks. It is not used.
			mcp.NotificationTaskStatus: func(context.Context, *mcpserver.Request) (any, error) { return nil, nil },
		}
		e.Capabilities = declareCore
	}
	srv.Extend(e)
	return t
}

// ownerOf returns the principal of a request in the form in which it is stored.
func ownerOf(r *mcpserver.Request) string {
	sum := sha256.Sum256([]byte(r.Principal().String()))
	return hex.EncodeToString(sum[:16])
}

// admit stores a new task, or returns an error if there are too many. It removes expired
// tasks first.
func (t *Tasks) admit(ctx context.Context, r *mcpserver.Request, e *entry) error {
	if err := t.delete(ctx, t.expired()); err != nil {
		return err
	}
	err := t.keep(limit.OwnerFrom(ctx), e)
	switch {
	case err == nil:
		return t.delete(ctx, t.takeEvicted())
	case errors.Is(err, limit.ErrOwnerFull):
		r.ReportLimit(mcp.LimitPrincipalTasks)
		return mcp.PeerRetryLaterf(mcp.CodeRateLimited, retry, "%s: too many tasks of yours are kept; try again when some have expired", r.Method())
	default:
		r.ReportLimit(mcp.LimitTasks)
		return mcp.PeerRetryLaterf(mcp.CodeOverloaded, retry, "%s: too many tasks are kept; try again when some have expired", r.Method())
	}
}

// delete removes tasks from the store.
func (t *Tasks) delete(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := t.entries.store.Delete(ctx, keyPrefix+id); err != nil {
			return fmt.Errorf("task: %w", err)
		}
	}
	return nil
}

// retry is the time after which a request refused because of too many tasks may be sent
// again.
const retry = time.Minute

// expired stops counting the expired tasks, and returns their ids.
func (t *Tasks) expired() (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for id, k := range t.kept {
		if !now.Before(k.expires) {
			t.forget(id)
			ids = append(ids, id)
		}
	}
	return ids
}

// keep counts a task for an owner, or returns why there is no room. It may evict the newest
// task of the owner that holds most.
func (t *Tasks) keep(owner limit.Owner, e *entry) error {
	t.mu.Lock()
	t.kept[e.ID] = &kept{expires: e.Expires}
	t.mu.Unlock()
	evict := func() { t.evict(e.ID) }
	place, err := t.pool.Take(owner, 1, evict)
	var bytes *limit.Place
	if err == nil {
		bytes, err = t.bytes.Take(owner, 1, evict)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kept[e.ID]
	if err == nil && k == nil {
		err = limit.ErrPoolFull // it was evicted meanwhile
	}
	if err != nil {
		place.Release()
		bytes.Release()
		delete(t.kept, e.ID)
		return err
	}
	k.place, k.bytes = place, bytes
	return nil
}

// errNoRoom is the reason for which a task does not get more bytes.
var errNoRoom error = mcp.PeerRetryLaterf(mcp.CodeOverloaded, retry, "too many bytes of tasks are kept, most of them yours; try again when some have expired")

// reserve reserves the room for a task whose entry is about to have that many bytes, or
// fails with errNoRoom. It never reserves less than before, so that a concurrent change of
// the task that fails does not free the room of one that succeeds. Tasks of other processes
// are not counted. It may evict the newest task of the owner that holds most bytes.
func (t *Tasks) reserve(ctx context.Context, id string, size int) error {
	t.mu.Lock()
	k := t.kept[id]
	t.mu.Unlock()
	if k == nil {
		return nil
	}
	if !k.reserve(size) {
		return errNoRoom
	}
	return t.delete(ctx, t.takeEvicted())
}

// reserve reports whether there is room for that many bytes of the task.
func (k *kept) reserve(size int) bool {
	k.reserving.Lock()
	defer k.reserving.Unlock()
	if size <= k.size {
		return true
	}
	if k.bytes.Resize(size) != nil {
		return false
	}
	k.size = size
	return true
}

// errEvicted ends the work on a task that makes room for the task of another owner.
var errEvicted = errors.New("the task was ended because there are too many tasks, or bytes of tasks, most of them of its owner")

// evict ends a task and stops counting it, to make room for another.
func (t *Tasks) evict(id string) {
	t.mu.Lock()
	k := t.kept[id]
	t.forget(id)
	t.evicted = append(t.evicted, id)
	t.mu.Unlock()
	if k != nil && k.end != nil {
		k.end(errEvicted)
	}
}

// takeEvicted returns the ids of evicted tasks. The caller must delete them from the
// store.
func (t *Tasks) takeEvicted() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := t.evicted
	t.evicted = nil
	return ids
}

// ends sets the function that ends the work on a task.
func (t *Tasks) ends(id string, end context.CancelCauseFunc) {
	t.mu.Lock()
	k := t.kept[id]
	if k != nil {
		k.end = end
	}
	t.mu.Unlock()
	if k == nil {
		end(errEvicted)
	}
}

// ended drops the function that ends the work on a task, because it holds the request.
func (t *Tasks) ended(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.kept[id]; k != nil {
		k.end = nil
	}
}

// forget stops counting a task. The caller holds mu.
func (t *Tasks) forget(id string) {
	if k := t.kept[id]; k != nil {
		k.place.Release()
		k.bytes.Release()
		delete(t.kept, id)
	}
}

// find returns a task of the request's principal. A task of another principal, or a call, is an
// unknown task.
func (t *Tasks) find(ctx context.Context, r *mcpserver.Request, id string) (*entry, error) {
	e, err := t.entries.load(ctx, id)
	if err == nil && (e.Owner != ownerOf(r) || e.Call) {
		err = errUnknown
	}
	if isUnknown(err) {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: unknown task", r.Method())
	}
	return e, err
}

// get handles tasks/get of the extension.
//
// Spec: ext-tasks draft#task-polling
func (t *Tasks) get(ctx context.Context, r *mcpserver.Request) (any, error) {
	var p mcp.TaskParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	e, err := t.find(ctx, r, p.TaskID)
	if err != nil {
		return nil, err
	}
	return &taskResult{Task: e.task()}, nil
}

// update handles tasks/update.
//
// Spec: ext-tasks draft#task-update-requests
func (t *Tasks) update(ctx context.Context, r *mcpserver.Request) (any, error) {
	var p updateParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.InputResponses == nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: inputResponses: want an object", r.Method())
	}
	if _, err := t.find(ctx, r, p.TaskID); err != nil {
		return nil, err
	}
	answers := make(map[string]answer, len(p.InputResponses))
	for key, value := range p.InputResponses {
		answers[key] = answer{Value: value}
	}
	err := t.entries.answer(ctx, p.TaskID, answers)
	if errors.Is(err, errTooLarge) {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", r.Method(), err)
	}
	return nil, err
}

// cancel handles tasks/cancel of the extension. It acknowledges the request in any case.
//
// Spec: ext-tasks draft#task-cancellation
func (t *Tasks) cancel(ctx context.Context, r *mcpserver.Request) (any, error) {
	_, err := t.cancelled(ctx, r)
	if err == errEnded {
		err = nil
	}
	return nil, err
}

func (t *Tasks) cancelled(ctx context.Context, r *mcpserver.Request) (*entry, error) {
	var p mcp.TaskParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if _, err := t.find(ctx, r, p.TaskID); err != nil {
		return nil, err
	}
	e, err := t.entries.cancel(ctx, p.TaskID)
	if err == nil {
		t.audit(ctx, r, "task cancelled", e)
	}
	return e, err
}

// audit logs a change of a task. The log has only the beginning of the id, because the
// whole id can be a credential.
func (t *Tasks) audit(ctx context.Context, r *mcpserver.Request, msg string, e *entry) {
	t.o.logger().LogAttrs(ctx, slog.LevelInfo, msg, slog.String("task", e.ID[:6]),
		slog.String("status", string(e.Status)), slog.Any("principal", r.Principal()))
}

// maxListened bounds the tasks of one subscription.
const maxListened = 1024

// listen begins a subscription to the states of tasks. Tasks of other principals are left
// out, as if they did not exist.
//
// Spec: ext-tasks draft#task-status-notifications
func (t *Tasks) listen(ctx context.Context, r *mcpserver.Request, wanted jsontext.Value) (any, iter.Seq2[string, any], error) {
	ids, err := decodeIDs(wanted)
	if err != nil {
		return nil, nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: taskIds: %v", r.Method(), err)
	}
	mine := ids[:0]
	for _, id := range ids {
		if _, err := t.find(ctx, r, id); err == nil && !slices.Contains(mine, id) {
			mine = append(mine, id)
		}
	}
	if len(mine) == 0 {
		return nil, nil, nil
	}
	return mine, t.feed(ctx, mine), nil
}

// feed yields the current state of each task, and each later state.
func (t *Tasks) feed(ctx context.Context, ids []string) iter.Seq2[string, any] {
	w := t.entries.watch(ids...)
	context.AfterFunc(ctx, w.stop)
	return func(yield func(string, any) bool) {
		sent := make(map[string]string) // versions by id
		for {
			for _, id := range ids {
				e, err := t.entries.load(ctx, id)
				if err != nil || sent[id] == e.version() {
					continue
				}
				sent[id] = e.version()
				if !yield(Notification, &notice{Task: e.task()}) {
					return
				}
			}
			if w.wait(ctx, time.Now().Add(lease)) != nil {
				return
			}
		}
	}
}

// version returns a text that differs for states of a task that differ for its client.
func (e *entry) version() string {
	return fmt.Sprint(e.Status, e.Message, e.Updated.UnixMilli(), slices.Sorted(maps.Keys(e.Open)))
}
