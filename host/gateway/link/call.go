package link

import (
	"context"
	"errors"
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Call is one call of a caller at an upstream. The upstream can ask the caller until the
// call is closed. A Call must not be copied.
type Call struct {
	CallParams

	mu            sync.Mutex    // guards the fields below
	openQuestions int           // questions without an answer
	allAnswered   chan struct{} // closed when openQuestions becomes zero
	closed        bool          // no further question is accepted
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

// beginQuestion counts one more open question. It reports false if the call is closed.
func (c *Call) beginQuestion() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.Context.Err() != nil {
		return false
	}
	if c.openQuestions == 0 {
		c.allAnswered = make(chan struct{})
	}
	c.openQuestions++
	return true
}

// endQuestion counts one open question less.
func (c *Call) endQuestion() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openQuestions--; c.openQuestions == 0 {
		close(c.allAnswered)
	}
}

// WaitAndClose waits for the open questions and then closes the call. A server may still
// wait for an answer after it has sent the reply of the call.
func (c *Call) WaitAndClose() {
	for {
		idle := c.tryClose()
		if idle == nil {
			return
		}
		select {
		case <-idle:
		case <-c.Context.Done():
		}
	}
}

// tryClose closes the call. If questions are open it returns a channel to wait for
// instead.
func (c *Call) tryClose() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openQuestions > 0 && c.Context.Err() == nil {
		return c.allAnswered
	}
	c.closed = true
	return nil
}

// isCancelled reports whether the caller no longer waits for the call, nor will in another round.
func (c *Call) isCancelled() bool {
	return c.Context.Err() != nil || c.Waits != nil && c.Waits().Err() != nil
}

// mayStillRun reports whether the upstream may still work on a call that ended with err.
func (c *Call) mayStillRun(err error) bool {
	return err != nil && (c.Context.Err() != nil || errors.Is(err, context.DeadlineExceeded))
}
