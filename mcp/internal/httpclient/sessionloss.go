package httpclient

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// A session is lost when the server does not know it any more:
//
//	response                                        the session is
//	404 to any message                              lost
//	400 to a request, whose body is not its answer  lost, unless 400 does not count now
//	400 to a notification                           checked with a request, see CheckSession
//	400 or 404 to a GET, unless it is the first     checked with a request
//	anything else                                   not lost
//
//	open ──loss──▶ lost ──next use──▶ initialize ──▶ open; the refused requests are sent again:
//	                                                  ├─ another response: it is theirs
//	                                                  └─ 400: the first 400 is their error, and
//	                                                     400 does not count for refutedTime
//
// A refused request did not run, so the client sends it again, once. The other calls in
// flight keep their responses: each gets its own refusal, or the result of a server that
// has begun it before (Link.Drain). Then the old session is deleted, and what is still in
// flight fails with an error that says that it may have run.
//
// Servers answer 400 although the specification asks for 404, and they also answer 400
// to requests that they do not like. The answer to the repeated request tells these
// apart.
//
// Spec: 2025-11-25 basic/transports#session-management

// ErrSessionLost ends a link when the server does not know its session any more.
var ErrSessionLost = errors.New("the server has ended the session")

const (
	// refutedTime is how long 400 does not count as the loss of a session after a request
	// got it again in a new session.
	refutedTime = time.Minute
	// lostGrace is how long calls in flight may still get their response after the
	// session was lost.
	lostGrace = 5 * time.Second
	// lostDeleteTimeout bounds the DELETE of a lost session, whose server may not answer.
	lostDeleteTimeout = 2 * time.Second
)

// SessionLostError reports that the server has refused one message because it does not
// know the session. Its chain has ErrSessionLost, but not if Refuted is set.
type SessionLostError struct {
	Status *StatusError
	// Answer is the error in the body of a 400, or nil.
	Answer *jsonrpc.Error
	// Refuted says that the message was sent again in a new session, which got 400 as
	// well: the session is not lost.
	Refuted bool
}

func (e *SessionLostError) Error() string {
	if e.Refuted {
		return e.Status.Error()
	}
	return ErrSessionLost.Error() + " (" + e.Status.Error() + ")"
}

// Is makes errors.Is find ErrSessionLost. There is no Unwrap: the status is not the error
// of the call.
func (e *SessionLostError) Is(target error) bool { return target == ErrSessionLost && !e.Refuted }

// SessionLosses is what one client has learned from lost sessions. The zero value is
// ready for use. It is safe for concurrent use.
type SessionLosses struct {
	refuted atomic.Int64 // until when 400 does not count, in Unix nanoseconds
}

func (s *SessionLosses) refute() { s.refuted.Store(time.Now().Add(refutedTime).UnixNano()) }

func (s *SessionLosses) counts400() bool { return time.Now().UnixNano() >= s.refuted.Load() }

// refusalOfSession reports whether the body of a 400 may concern the session. It does not
// if it is the answer to the request: our id with a result, or with an error other than
// those with which servers refuse sessions. It returns the error in the body, if there
// is one.
func refusalOfSession(items []jsonrpc.Item, id jsonrpc.ID) (*jsonrpc.Error, bool) {
	for _, item := range items {
		if m := item.Message; isAnswer(m, id) && (m.Error == nil || !refusesSession(m.Error.Code)) {
			return nil, false
		}
	}
	for _, item := range items {
		if item.Message.Error != nil {
			return item.Message.Error, true
		}
	}
	return nil, true
}

// codeServerError is the code with which the official TypeScript and Python libraries
// refuse a session.
const codeServerError = -32000

func refusesSession(code int64) bool {
	return code == codeServerError || code == jsonrpc.CodeInvalidRequest
}

// sessionRefused returns the error of a request whose response is a 400 that means that
// the session is lost, or that refutes it. It returns nil if the response is the error of
// the request itself. The answer is the error in the body, or nil.
func (l *Link) sessionRefused(resp *response, answer *jsonrpc.Error, repeated bool) error {
	if resp.StatusCode != http.StatusBadRequest || resp.session == "" || l.negotiated() == nil {
		return nil
	}
	lost := &SessionLostError{Status: statusError(resp.Response), Answer: answer, Refuted: repeated}
	switch {
	case repeated:
		l.Losses.refute()
		return lost
	case !errors.Is(l.Err(), ErrSessionLost) && !l.Losses.counts400():
		return nil
	}
	return &exchange.NotSentError{Err: lost}
}

// endIfLost ends the link if err says that its session is lost.
func (l *Link) endIfLost(err error) {
	if errors.Is(err, ErrSessionLost) {
		l.End(ErrSessionLost)
	}
}

// checkAfter checks the session after a message that has no response, or a GET, was refused with
// 400 or 404.
func (l *Link) checkAfter(err error) {
	e, ok := errors.AsType[*StatusError](err)
	if ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound) && l.inSession() && l.CheckSession != nil {
		l.CheckSession()
	}
}

// inSession reports whether a session is open.
func (l *Link) inSession() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session != "" && l.facts != nil
}

// Drain implements exchange.Link: after the session was lost it waits for the calls in
// flight, each of which gets a refusal of its own or the response of a server that had
// begun it.
func (l *Link) Drain(ctx context.Context) {
	if !errors.Is(l.Err(), ErrSessionLost) {
		return
	}
	timer := time.NewTimer(lostGrace)
	defer timer.Stop()
	select {
	case <-l.idle:
	case <-timer.C:
	case <-ctx.Done():
	}
}
