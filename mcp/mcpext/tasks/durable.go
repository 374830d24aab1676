package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/durable"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A durable task has two values in the Store, beside its keys in a durable.Queue:
//
//	task.<id>       the entry, with what is needed to run the handler again
//	taskcall.<id>   the call: arguments, sender, capabilities; never changed, deleted at the end
//	                of the task
//
// Both are encrypted with the keys of the server and bound to the id. The Term of a process is
// in the entry while that process runs the task:
//
//	begin         key Running(own token), call, entry with Holder = own token, Attempt = 1
//	step          entry with the memory, if Holder is still the own token
//	end           entry with the outcome, if Holder is still the own token; keys and call deleted
//	retry         key Due, entry with Holder = "" and Due, key Due again; key Running deleted
//	take over     key Running(own token), entry with Holder = own token and Attempt + 1; old key deleted
//	dead letter   key Dead, entry with Holder = "" and Dead = the reason, key Dead again; old key deleted
//
// Each change of the entry is one Swap, so that of two processes one takes a task over, and a
// process whose Term was lost and whose task was taken over changes nothing any more. The answer of
// a Swap can be lost: a change that is tried again finds whether it was written.

// DurableOptions are the options of tasks of tools with the option mcpserver.Durable. Nil means
// the defaults, as does 0. Enable panics if a number is negative.
type DurableOptions struct {
	// Attempts bounds the runs of a task that end without an outcome: because the handler
	// panics, because it returns an *mcp.Error of CodeOverloaded or CodeRateLimited, or
	// because its process ends, unless it waits for an answer then. A run that a limit of the
	// server or of middleware refuses, or whose call cannot be read from the Store, is not
	// counted. After that many the task is a dead letter, see Tasks.DeadLetters. Default: 5.
	Attempts int
	// Backoff is about the time before the second attempt. Each further one is twice as long,
	// up to MaxBackoff. The times are random between half of that and all. An error with a
	// RetryAfter is obeyed, too. After the end of a process there is no such time. Default:
	// 1 second and 5 minutes.
	Backoff    time.Duration
	MaxBackoff time.Duration
	// MaxTaken bounds the tasks of other processes, and those that are tried again, that this
	// process runs at once. One principal has at most half of them. Those that wait for an answer
	// are not counted. Further ones wait, or run elsewhere. Default: 64.
	MaxTaken int
	// MaxMemory bounds the memory of a task, in bytes: the results of Once and the answers to
	// questions. A step with which there is more fails. Default: 256 KiB; at most 512 KiB,
	// because the value of a Store is limited.
	MaxMemory int
	// Orphan is called in place of running a task again, when its process has ended or its next
	// attempt is due. It is for authors who have a queue of their own: Orphan puts the ID into
	// it, and who takes it from there calls Tasks.Run, in any process. If Orphan fails, or
	// nobody has called Run a minute later, it is called again, maybe on another replica. It
	// is called once at a time. Default: the task is run here.
	Orphan func(ctx context.Context, o Orphan) error
}

// Orphan is a durable task that no process runs.
type Orphan struct {
	// ID is the id of the task. It can be a credential of an anonymous client.
	ID string
	// Tool is the tool that the task calls.
	Tool string
	// Attempt is the number of the next attempt. The first one is 1.
	Attempt int
}

func (o *DurableOptions) orZero() *DurableOptions {
	if o == nil {
		return new(DurableOptions)
	}
	return o
}

func (o *DurableOptions) attempts() int          { return cmp.Or(o.orZero().Attempts, 5) }
func (o *DurableOptions) backoff() time.Duration { return cmp.Or(o.orZero().Backoff, time.Second) }
func (o *DurableOptions) maxBackoff() time.Duration {
	return cmp.Or(o.orZero().MaxBackoff, 5*time.Minute)
}
func (o *DurableOptions) maxTaken() int  { return cmp.Or(o.orZero().MaxTaken, 64) }
func (o *DurableOptions) maxMemory() int { return cmp.Or(o.orZero().MaxMemory, 256<<10) }

// maxMaxMemory is the largest MaxMemory: encoded and encrypted, it leaves an eighth of maxEntry to
// answers.
const maxMaxMemory = 512 << 10

// check panics if an option is out of its range.
func (o *DurableOptions) check() {
	o = o.orZero()
	for name, n := range map[string]int64{
		"Attempts": int64(o.Attempts), "Backoff": int64(o.Backoff), "MaxBackoff": int64(o.MaxBackoff),
		"MaxTaken": int64(o.MaxTaken), "MaxMemory": int64(o.MaxMemory),
	} {
		if n < 0 {
			panic(fmt.Sprintf("tasks: DurableOptions.%s is %d; want a positive number, or 0 for the default", name, n))
		}
	}
	if o.MaxMemory > maxMaxMemory {
		panic(fmt.Sprintf("tasks: DurableOptions.MaxMemory is %d; want at most %d bytes, because the value of a Store is limited", o.MaxMemory, maxMaxMemory))
	}
}

// durableState is the part of an entry that only durable tasks have.
type durableState struct {
	Tool string `json:"tool"`
	// Holder is the token of the Term that runs the task, or empty.
	Holder string `json:"holder,omitzero"`
	// Attempt is the number of the run that has begun last, from 1.
	Attempt int `json:"attempt"`
	// Refused is how many runs in sequence were refused since the last one that was not.
	Refused int `json:"refused,omitzero"`
	// Due is when the next attempt is due, in milliseconds since 1970, if nobody runs the task.
	Due int64 `json:"due,omitzero"`
	// Dead is the reason for which the task is a dead letter, or empty.
	Dead string `json:"dead,omitzero"`
	// Memory is that of the handler, or nil before the first step: then the call has it.
	Memory []byte `json:"memory,omitempty"`
	// Asked identifies the questions of the task, by key.
	Asked map[string]string `json:"asked,omitempty"`
	// Asking is the token of the Term that has asked a question last.
	Asking string `json:"asking,omitzero"`
	// CallSize is the number of bytes of the call in the Store.
	CallSize int `json:"callSize,omitzero"`
}

const (
	callPrefix = "taskcall." // prefix of keys in the Store, before the id
	// durableMark begins the ids of durable tasks, whose entries are encrypted: ids of other
	// tasks are upper-case.
	durableMark = "d"
	// maxCall bounds the encrypted call in the Store: the largest value of a Store.
	maxCall = 1 << 20
)

func isDurableID(id string) bool { return len(id) > 0 && id[:1] == durableMark }

// digestOf identifies a question by its method and its params.
func digestOf(q mcp.InputRequest) string {
	text := binary.BigEndian.AppendUint64(nil, uint64(len(q.Method)))
	sum := sha256.Sum256(append(append(text, q.Method...), q.Params...))
	return hex.EncodeToString(sum[:12])
}

// openDurable makes a new entry one that this process runs, and stores its call. It returns nil
// for a task that is not durable.
func (t *Tasks) openDurable(ctx context.Context, r *mcpserver.Request, e *entry) (*durableRun, error) {
	if e.Durable == nil {
		return nil, nil
	}
	call, err := r.SealCall(callPrefix+e.ID, e.Expires)
	if err != nil {
		return nil, err
	}
	if len(call) > maxCall {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "tool %q: the call has %d bytes when it is stored, want at most %d for a durable task", e.Durable.Tool, len(call), maxCall)
	}
	term, err := t.lease.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	t.enterRun(e.ID) // the id is new
	d := newDurableRun(t, term, e.ID)
	e.Durable.Holder, e.Durable.CallSize = term.Token, len(call)
	if err = t.queue.Add(ctx, d.key, e.left()); err == nil {
		err = t.entries.store.Put(ctx, callPrefix+e.ID, call, e.left())
	}
	if err != nil {
		d.abandon(ctx)
		return nil, fmt.Errorf("task: %w", err)
	}
	return d, nil
}

// work is the Worker of the extension: it runs tasks whose processes have ended, and tasks whose
// next attempt is due.
func (t *Tasks) work(ctx context.Context) { newWorker(t).run(ctx) }

// Work runs durable tasks in a process that serves nobody: those whose processes have ended, and
// those whose next attempt is due. The tools are registered with the server as in the processes
// that serve, under the same server name, Store and Keys; a task whose tool is not registered is
// left to others. Work returns nil when ctx ends, and ErrShutdown of mcpserver after Shutdown.
// Tasks that it has begun go on then. Call Shutdown after it, which waits for them and then
// leaves them to other replicas.
//
// A server that serves does this by itself, if it has a tool with the option mcpserver.Durable.
func Work(ctx context.Context, srv *mcpserver.Server) error { return srv.RunWorker(ctx, ID) }

// callOf returns the stored call of a task.
func (t *Tasks) callOf(ctx context.Context, id string) ([]byte, error) {
	call, found, err := t.entries.store.Get(ctx, callPrefix+id)
	if err == nil && !found {
		err = errUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("task: read its call: %w", err)
	}
	return call, nil
}

// clean deletes what a task that has ended has in the Store beside its entry. What cannot be
// deleted expires with the task.
func (t *Tasks) clean(ctx context.Context, key durable.Work) {
	_ = t.entries.store.Delete(ctx, callPrefix+key.ID)
	_ = t.queue.Remove(ctx, key)
}
