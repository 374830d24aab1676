package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callerError is an error whose text callers see. Details about the upstream (its command line
// or URL, paths, standard error, what it has sent) are only in err, which is for the log and the
// audit log of the host.
//
// The server makes a result for the model from the text if a tool was called. For all other requests it
// sends an *mcp.Error only, and the first one that errors.As finds: that is public, before any in err,
// which may be one that the upstream has sent to the host.
type callerError struct {
	text   string
	public *mcp.Error // nil if a tool was called
	err    error
}

func newCallerError(method, text string, err error) *callerError {
	e := &callerError{text: text, err: err}
	if method != mcp.MethodToolsCall {
		e.public = mcp.Errorf(mcp.CodeInternal, "%s: %s", method, text)
	}
	return e
}

func (e *callerError) Error() string { return e.text }

func (e *callerError) Unwrap() []error {
	if e.public == nil {
		return []error{e.err}
	}
	return []error{e.public, e.err}
}

// callerErrors turns errors of one upstream into what callers see of them.
type callerErrors struct {
	Params
	questions *questions
	elicited  *elicitedURLs
}

// unavailable returns the error of a request for its caller: that a person has to approve the
// upstream, or that it is unavailable with an incident id, under which the log of the host has the
// reason.
func (c *callerErrors) unavailable(r *mcpserver.Request, err error) error {
	method := r.Method()
	whole := fmt.Errorf("upstream %q: %w", c.Key, err)
	if e, ok := errors.AsType[*link.PublicError](err); ok {
		return newCallerError(method, fmt.Sprintf("upstream %q: %s", c.Key, e), whole)
	}
	if errors.Is(err, context.Canceled) {
		return newCallerError(method, fmt.Sprintf("upstream %q: the call was cancelled", c.Key), whole)
	}
	if e, ok := errors.AsType[*link.NotReadyError](err); ok && e.State == host.NeedsApproval {
		return newCallerError(method, c.ApprovalHint(), whole)
	}
	incident := NewIncident()
	event := "a call failed"
	if _, broken := errors.AsType[*mcpclient.ProtocolError](err); broken { // the operator of the server has to know
		event = "the server violates the protocol"
	}
	c.Log.Warn(event, "incident", incident, "error", RecordedText(err))
	return newCallerError(method, fmt.Sprintf("upstream %q: %s (incident %s)", c.Key, publicReason(err), incident), whole)
}

// publicReason returns what callers see of the reason of an error. It says if the call may have run, because
// models call again otherwise.
func publicReason(err error) string {
	_, sent := errors.AsType[*mcpclient.MayHaveRunError](err)
	_, late := errors.AsType[*deadlineError](err)
	if sent || late {
		return shortReason(err) + "; the call may have run"
	}
	return shortReason(err)
}

func shortReason(err error) string {
	if e, ok := errors.AsType[*deadlineError](err); ok {
		return e.text
	}
	if e, ok := errors.AsType[*link.NotReadyError](err); ok {
		return fmt.Sprintf("%s: unavailable", e.State)
	}
	if link.WantsCredentials(err) {
		return "needs a sign-in: unavailable"
	}
	if e, ok := errors.AsType[*mcpclient.ExitError](err); ok {
		return fmt.Sprintf("%s: unavailable", e.Reason)
	}
	if e, ok := errors.AsType[*mcpclient.HTTPError](err); ok {
		return fmt.Sprintf("%v: unavailable", e)
	}
	if _, ok := errors.AsType[*mcpclient.ProtocolError](err); ok {
		return "invalid response"
	}
	_, lost := errors.AsType[*mcpclient.LostError](err)
	if _, unanswered := errors.AsType[*mcpclient.MayHaveRunError](err); lost || unanswered {
		return "connection lost: unavailable"
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote {
		return "it does not accept the requests of the host"
	}
	return "unavailable"
}

// NewIncident returns an id under which the log of the host has the reason of an error, in 8 characters.
func NewIncident() string { return rand.Text()[:8] }

// RecordedText returns the text of an error for the log and the audit log. What a process has
// printed is left out, because it may contain secrets that the process was given; the
// state of the upstream has it.
func RecordedText(err error) string { return link.RecordedText(withDetails(err)) }

// withDetails returns the whole error of a call for the host's own records.
func withDetails(err error) error {
	if e, ok := errors.AsType[*callerError](err); ok {
		return e.err
	}
	return err
}

// of turns an error of an upstream into an error of the gateway. Errors about
// the request are passed on. Errors about the message that carried it concern only the
// host and the upstream.
func (c *callerErrors) of(r *mcpserver.Request, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if ok && e.Remote {
		switch e.Code {
		case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeResourceNotFound, mcp.CodeInternal, mcp.CodeRejected, mcp.CodeOther:
			bounded := withAdvice(boundedError(e), c.questions.advice(link.CapabilitiesOf(r), askedIn(e.Message)))
			bounded.Number = e.Number
			return bounded
		case mcp.CodeURLElicitationRequired:
			if err := c.elicited.addRequired(r.Session(), r.Owner(), e.Data); err != nil {
				return c.unavailable(r, err)
			}
			named, err := c.questions.relayedRequirement(e)
			if err != nil {
				return err
			}
			return boundedError(named)
		case mcp.CodeMissingCapability:
			if err := c.missingCapability(r, e); err != nil {
				return err
			}
		}
	}
	if waiting, ok := errors.AsType[*link.NotReadyError](err); ok && waiting.State == host.Starting {
		return newCallerError(r.Method(), stillStarting(c.Key), fmt.Errorf("upstream %q: %w", c.Key, err))
	}
	return c.unavailable(r, err)
}

// ofPerson turns the error of a question to the user of the host into that of a request at an upstream of the stateless
// era, which waits for no answer: the request ends, and its caller learns why. A refusal is no error of the protocol.
//
// Spec: 2026-07-28 client/sampling#error-handling
func (c *callerErrors) ofPerson(r *mcpserver.Request, err error) error {
	if unanswered, ok := errors.AsType[*host.UnansweredError](err); ok {
		return newCallerError(r.Method(), unanswered.Error(), unanswered)
	}
	if errors.Is(err, errRefusedSampling) {
		text := fmt.Sprintf("upstream %q: it asked for the answer of a model, and the user refused it; call again only if the user wants that", c.Key)
		return newCallerError(r.Method(), text, errors.New(text)) // the code of a refusal is for servers of the session era
	}
	return err
}

// maxErrorText limits the text of an upstream's error, and maxErrorData its data, in bytes.
const (
	maxErrorText = 64 << 10
	maxErrorData = 256 << 10
)

// boundedError returns the error of an upstream for a caller, within the limits.
func boundedError(e *mcp.Error) *mcp.Error {
	bounded := &mcp.Error{Code: e.Code, Message: host.CutText(e.Message, maxErrorText), Data: e.Data}
	if len(e.Data) > maxErrorData {
		bounded.Data = nil
	}
	return bounded
}
