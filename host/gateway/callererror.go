package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// callerError is an error whose text callers see. Details about the upstream (its command line
// or URL, paths, standard error, what it has sent) are only in err, which is for the log and the
// audit log of the host.
type callerError struct {
	text string
	err  error
}

func (e *callerError) Error() string { return e.text }

func (e *callerError) Unwrap() error { return e.err }

// callerErrorOf returns the error of a call for its caller: that a person has to approve the
// upstream, or that it is unavailable with an incident id, under which the log of the host has the
// reason.
func (u *upstream) callerErrorOf(err error) error {
	whole := fmt.Errorf("upstream %q: %w", u.Key, err)
	if e, ok := errors.AsType[*link.PublicError](err); ok {
		return &callerError{fmt.Sprintf("upstream %q: %s", u.Key, e), whole}
	}
	if errors.Is(err, context.Canceled) {
		return &callerError{fmt.Sprintf("upstream %q: the call was cancelled", u.Key), whole}
	}
	if e, ok := errors.AsType[*link.NotReadyError](err); ok && e.State == host.NeedsApproval {
		return &callerError{u.approvalHint(), whole}
	}
	incident := rand.Text()[:incidentLength]
	event := "a call failed"
	if _, broken := errors.AsType[*mcpclient.ProtocolError](err); broken { // the operator of the server has to know
		event = "the server violates the protocol"
	}
	u.log.Warn(event, "incident", incident, "error", recordedText(err))
	return &callerError{fmt.Sprintf("upstream %q: %s (incident %s)", u.Key, publicReason(err), incident), whole}
}

// publicReason returns what callers see of the reason of an error.
func publicReason(err error) string {
	if e, ok := errors.AsType[*link.NotReadyError](err); ok {
		return fmt.Sprintf("%s: unavailable", e.State)
	}
	if errors.Is(err, mcpauth.ErrSignInRequired) {
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
	if _, ok := errors.AsType[*mcpclient.MayHaveRunError](err); ok {
		return "connection lost: unavailable; the call may have run"
	}
	if _, ok := errors.AsType[*mcpclient.LostError](err); ok {
		return "connection lost: unavailable"
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote {
		return "it does not accept the requests of the host"
	}
	return "unavailable"
}

// incidentLength is the number of characters of an incident id, which are of base 32.
const incidentLength = 8

// recordedText returns the text of an error for the log and the audit log. What a process has
// printed is left out, because it may contain secrets that the process was given; the
// state of the upstream has it.
func recordedText(err error) string {
	if e, ok := errors.AsType[*mcpclient.ExitError](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*link.NotReadyError](err); ok {
		return string(e.State)
	}
	return host.CutText(withDetails(err).Error(), link.MaxReason)
}

// withDetails returns the whole error of a call for the host's own records.
func withDetails(err error) error {
	if e, ok := errors.AsType[*callerError](err); ok {
		return e.err
	}
	return err
}
