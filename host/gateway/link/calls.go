package link

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// calls are the calls on a connection in which the server may ask.
type calls struct {
	mu        sync.Mutex     // guards the fields below
	open      []*Call        // oldest first
	added     chan struct{}  // closed when a call is added
	answered  bool           // a call was answered since the connection is ready
	cancelled cancelledCalls // in which the server may still ask
}

func newCalls() calls { return calls{added: make(chan struct{})} }

// addition is a call to add to a connection.
type addition struct {
	call *Call // nil adds nothing
	// exclusive says that messages of the server do not name their call, so that the call may have
	// to be the only one.
	exclusive bool
	// onlyHere says that the call can use no other connection.
	onlyHere bool
}

// add adds a call. It reports false if an exclusive call cannot share the connection with the calls
// that are on it. A cancelled call does not prevent the next call of its client, nor a call that can
// use no other connection.
func (c *calls) add(a addition, k Kind, u *uses) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.exclusive && k != Extra {
		c.removeCancelledLocked()
	}
	switch {
	case a.call == nil:
		return true
	case a.exclusive && c.isSharedLocked(a.call):
		return false
	case a.exclusive && !a.onlyHere && !a.call.receivesNothing() && !c.cancelled.areOf(a.call.Request):
		return false
	}
	c.open = append(c.open, a.call)
	u.setCalls(len(c.open))
	close(c.added)
	c.added = make(chan struct{})
	return true
}

func (c *calls) remove(removed *Call, u *uses) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(other *Call) bool { return other == removed })
	u.setCalls(len(c.open))
}

// removeCancelledLocked removes the calls whose caller has cancelled them, so that its next call
// uses the same connection even if it comes before the goroutine of the first has noticed. The caller
// holds mu.
func (c *calls) removeCancelledLocked() {
	c.open = slices.DeleteFunc(c.open, func(other *Call) bool {
		if !other.isCancelled() {
			return false
		}
		c.cancelled.add(other.Request)
		return true
	})
}

// addCancelled notes that a call was cancelled which the server may still work on.
func (c *calls) addCancelled(cancelled *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelled.add(cancelled.Request)
}

// reset notes that the connection has become ready.
func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = false
}

// isFirst reports whether this is the first call that was answered since the connection is ready.
func (c *calls) isFirst() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.answered
	c.answered = true
	return first
}

// has reports whether a call of an owner is on the connection.
func (c *calls) has(owner mcpserver.Owner) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.open, func(other *Call) bool { return other.Request.Owner() == owner })
}

// beginQuestion begins a question to the caller. It returns the call in which the caller is asked, with a context that
// ends when that call is closed, or a channel to wait for if there is none. foreign says that the question may belong to
// a call of another client than that call: a cancelled one, or one on a connection whose server was expected to name the
// calls of its questions.
func (c *calls) beginQuestion(method string) (asked *Call, question context.Context, foreign bool, added <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.leastAskedLocked(func(call *Call) bool { return !call.Silent })
	for _, call := range calls {
		if call.Request.Session() == nil && (!c.cancelled.areOf(call.Request) || c.isSharedLocked(call)) {
			return nil, nil, true, nil
		}
	}
	asked, question = beginInFirst(calls, method)
	return asked, question, false, c.added
}

// beginPersonQuestion begins a question to the user of the host. It returns the call in which the user is
// asked, with a context that ends when that call is closed, or nil if there is none. alone says that all calls
// in which the user can be asked are of one client.
func (c *calls) beginPersonQuestion(method string) (asked *Call, question context.Context, alone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.leastAskedLocked(func(call *Call) bool { return call.Person != nil })
	if asked, question = beginInFirst(calls, method); asked == nil {
		return nil, nil, false
	}
	return asked, question, !slices.ContainsFunc(calls, func(other *Call) bool {
		return other.Request.Session() == nil && requesterOf(other.Request) != requesterOf(asked.Request)
	})
}

// leastAskedLocked returns the calls in which a question can be asked: those with the fewest open questions first, and of
// these the oldest. A question does not name its call, so as many calls have one as wait for an answer. The caller holds mu.
func (c *calls) leastAskedLocked(canAsk func(*Call) bool) []*Call {
	calls := slices.DeleteFunc(slices.Clone(c.open), func(call *Call) bool { return !canAsk(call) })
	slices.SortStableFunc(calls, func(a, b *Call) int { return cmp.Compare(a.openQuestions, b.openQuestions) })
	return calls
}

// beginInFirst begins a question in the first of some calls that is not closed, and returns nil if all are. The caller
// holds the mu of the calls.
func beginInFirst(calls []*Call, method string) (*Call, context.Context) {
	for _, call := range calls {
		if question, begun := call.beginQuestion(method); begun {
			call.openQuestions++
			return call, question
		}
	}
	return nil, nil
}

// endQuestion ends a question that was begun in a call.
func (c *calls) endQuestion(asked *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked.openQuestions--
}

// isSharedLocked reports whether the connection has calls that cannot share it with the given
// one. The caller holds mu.
func (c *calls) isSharedLocked(with *Call) bool {
	return slices.ContainsFunc(c.open, func(other *Call) bool { return other != with && !with.canShare(other) })
}

func (c *Conn) add(a addition) bool { return c.calls.add(a, c.Kind, &c.uses) }
