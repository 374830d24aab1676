package link

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Call is one call of a caller at an upstream. The upstream can ask the caller until the
// call is closed. A Call must not be copied.
type Call struct {
	CallParams

	mu              sync.Mutex      // guards the fields below
	questions       context.Context // of the questions, or nil if there was none
	cancelQuestions context.CancelCauseFunc
	openRoots       int           // questions for the roots without an answer
	rootsAnswered   chan struct{} // closed when openRoots becomes zero
	closed          bool          // no further question is accepted

	openQuestions int // questions without an answer; guarded by the mu of calls
}

// CallParams are the parameters of a Call.
type CallParams struct {
	Request *mcpserver.Request
	Context context.Context // of the call at the upstream
	// Waits returns the context of the caller's current request, if the call outlives a
	// request. It may be nil.
	Waits func() context.Context
	// Silent says that the caller cannot be asked in the call.
	Silent bool
	// Person waits while the user of the host or the caller is asked in the call. It is nil if the call is
	// silent.
	Person PersonWaiter
	// Ask sends a question to the caller and waits for the answer.
	Ask func(ctx context.Context, method string, params, answer any) error
}

// canShare reports whether two calls of callers without a session can share a connection on
// which questions and log messages do not name their call: none of them can be one for the
// wrong client, and at most one of the calls is one in which its client can be asked.
func (c *Call) canShare(other *Call) bool {
	if c.receivesNothing() && other.receivesNothing() {
		return true
	}
	from := requesterOf(c.Request)
	return (c.Silent || other.Silent) && from.isKnown() && from == requesterOf(other.Request)
}

// receivesNothing reports whether the client gets neither questions nor log messages during
// the call.
func (c *Call) receivesNothing() bool {
	_, logs := c.Request.LogLevel()
	return c.Silent && !logs
}

// beginQuestion notes a question that is asked in the call, and returns a context that ends when the call
// is closed. It reports false if the call is closed already.
func (c *Call) beginQuestion(method string) (context.Context, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.Context.Err() != nil {
		return nil, false
	}
	if c.questions == nil {
		c.questions, c.cancelQuestions = context.WithCancelCause(c.Context)
	}
	if method == mcp.MethodRootsList {
		if c.openRoots == 0 {
			c.rootsAnswered = make(chan struct{})
		}
		c.openRoots++
	}
	return c.questions, true
}

// endQuestion notes that a question has ended.
func (c *Call) endQuestion(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if method != mcp.MethodRootsList {
		return
	}
	if c.openRoots--; c.openRoots == 0 {
		close(c.rootsAnswered)
	}
}

// ask sends a question that beginQuestion has noted to the caller, until the context that it has returned
// ends. Meanwhile the call does not count as running. It may do so again later than ask returns. A call that
// outlives its request leaves no place: the question ends the request.
func (c *Call) ask(ctx, question context.Context, method string, params, answer any) error {
	defer c.endQuestion(method)
	if c.Waits == nil {
		_, err := askWhile(ctx, c.waitIdle(question), func(ctx context.Context) error { return c.Ask(ctx, method, params, answer) })
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(question, cancel)()
	return c.Ask(ctx, method, params, answer)
}

// errHasResult is the cause of the end of the questions in a call whose result is there.
var errHasResult = errors.New("the call has its result")

// close closes a call whose result is there, and cancels the questions that are open. It waits for an
// open question for the roots first, but not longer than the given time: many servers ask it as soon as
// they are connected, and answer their first call meanwhile. It reports false if there was no answer.
func (c *Call) close(wait time.Duration) (answered bool) {
	c.mu.Lock()
	c.closed = true
	open, roots, cancel := c.openRoots > 0, c.rootsAnswered, c.cancelQuestions
	c.mu.Unlock()
	if cancel == nil {
		return true
	}
	defer cancel(errHasResult)
	if !open {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-roots:
	case <-c.Context.Done():
	case <-timer.C:
		return false
	}
	return true
}

// isCancelled reports whether the caller no longer waits for the call, nor will in another round.
func (c *Call) isCancelled() bool {
	return c.Context.Err() != nil || c.Waits != nil && c.Waits().Err() != nil
}

// mayStillRun reports whether the upstream may still work on a call that ended with err.
func (c *Call) mayStillRun(err error) bool {
	return err != nil && (c.Context.Err() != nil || errors.Is(err, context.DeadlineExceeded))
}
