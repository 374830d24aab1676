package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// maxFailedCalls is the number of calls that fail one after the other before an upstream
// that is connected counts as failing.
const maxFailedCalls = 3

// health records whether the calls of one upstream succeed, over all its connections,
// and how often a session was lost. It refuses no call: calls are sent to an upstream
// that is failing, and the first that succeeds makes it ready again.
type health struct {
	Params

	mu           sync.Mutex // guards the fields below
	failed       int        // calls since the last one that succeeded
	reason       string     // of the last one that failed
	sessionsLost int
	sessionLost  time.Time               // the last time
	silent       [len(silentReasons)]int // calls that are under way
}

// silentCall says whether a call that is under way has been without a message for long.
type silentCall int

const (
	notSilent        silentCall = iota
	silentAnswered              // the server answers pings
	silentUnanswered            // the server does not answer pings
)

// silentReasons end the reason of a degraded upstream.
var silentReasons = [...]string{silentAnswered: "the server answers pings", silentUnanswered: "the server does not answer pings"}

// recordSilent records that a call under way has become, or is no longer, silent.
func (h *health) recordSilent(before, now silentCall) {
	h.mu.Lock()
	was := h.silentReasonLocked()
	h.silent[before]--
	h.silent[now]++
	changed := was != h.silentReasonLocked()
	h.mu.Unlock()
	if changed {
		h.Pool.SharedConn().ReportStatus()
	}
}

// silentReasonLocked returns why the upstream is degraded, or "". The caller holds mu.
func (h *health) silentReasonLocked() string {
	for s := silentUnanswered; s > notSilent; s-- {
		if h.silent[s] > 0 {
			return fmt.Sprintf("a call has been without a message for %v; %s", silenceUntilDegraded, silentReasons[s])
		}
	}
	return ""
}

// count counts a call that has ended. It reports whether the upstream has begun or
// ceased to be failing.
func (h *health) count(ctx context.Context, err error) (changed bool) {
	if isCancelled(ctx) || err != nil && !isFault(err) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.failed >= maxFailedCalls
	if err == nil {
		h.failed, h.reason = 0, ""
	} else {
		h.failed++
		h.reason = host.CutText(err.Error(), link.MaxReason)
	}
	return before != (h.failed >= maxFailedCalls)
}

// isCancelled reports whether a call was cancelled, and not because it took too long.
func isCancelled(ctx context.Context) bool {
	_, late := errors.AsType[*deadlineError](context.Cause(ctx))
	return ctx.Err() != nil && !late
}

// isFault reports whether an error of a call says that the upstream does not work. An
// error about the request, a question, and the limits of the host do not.
func isFault(err error) bool {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote {
		return !slices.Contains(requestErrors, e.Code)
	}
	if e, ok := errors.AsType[*link.NotReadyError](err); ok {
		return e.State.IsFault()
	}
	_, asks := errors.AsType[*mcpclient.InputRequiredError](err)
	_, sent := errors.AsType[*mcpclient.MayHaveRunError](err)
	_, status := errors.AsType[*mcpclient.HTTPError](err)
	_, lost := errors.AsType[*mcpclient.LostError](err)
	_, invalid := errors.AsType[*mcpclient.ProtocolError](err)
	_, unreachable := errors.AsType[*net.OpError](err)
	return !asks && (sent || status || lost || invalid || unreachable)
}

// requestErrors are the codes of errors that an upstream answers because of the request.
var requestErrors = []mcp.Code{
	mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeResourceNotFound, mcp.CodeRejected,
	mcp.CodeURLElicitationRequired, mcp.CodeMissingCapability,
}

// recordSessionLost records a session that was lost and opened again, and reports it.
func (h *health) recordSessionLost() {
	h.mu.Lock()
	h.sessionsLost++
	h.sessionLost = time.Now()
	h.mu.Unlock()
	h.Pool.SharedConn().ReportStatus()
}

// fillStatus sets the fields of a status that describe calls and sessions. The fields of
// the connection are set already.
func (h *health) fillStatus(s *host.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.SessionsLost, s.SessionLost = h.sessionsLost, h.sessionLost
	switch reason := h.silentReasonLocked(); {
	case s.State != host.Ready:
	case h.failed >= maxFailedCalls:
		s.State, s.Reason = host.Failing, h.reason
	case reason != "":
		s.State, s.Reason = host.Degraded, reason
	}
}

// recordCall records how a call of the upstream ended, and reports a change of its state.
func (h *health) recordCall(ctx context.Context, err error) {
	if h.count(ctx, err) {
		h.Pool.SharedConn().ReportStatus()
	}
}
