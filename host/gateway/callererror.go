package gateway

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// callerError is an error whose text callers see. Details about the program of an upstream
// (its command line, paths, standard error) are only in err, which is for the log and the
// audit log of the host.
type callerError struct {
	text string
	err  error
}

func (e *callerError) Error() string { return e.text }

func (e *callerError) Unwrap() error { return e.err }

// callerErrorOf returns the error of a call for its caller. If that hides something, the
// whole error is logged under an incident id that the caller sees. A response that cannot be
// used is logged, because the operator of the server has to know.
func (u *upstream) callerErrorOf(err error) error {
	whole := fmt.Errorf("upstream %q: %w", u.Key, err)
	text := whole.Error()
	if e, ok := errors.AsType[*notReadyError](err); ok {
		text = fmt.Sprintf("upstream %q: %s: unavailable", u.Key, e.state)
	}
	if e, ok := errors.AsType[*mcpclient.ExitError](err); ok {
		text = strings.ReplaceAll(text, e.Error(), e.Reason)
	}
	if _, broken := errors.AsType[*mcpclient.ProtocolError](err); broken {
		u.log.Warn("the server violates the protocol", "error", err)
	}
	if text == whole.Error() {
		return whole
	}
	incident := rand.Text()[:incidentLength]
	u.log.Warn("a call failed", "incident", incident, "error", err)
	return &callerError{fmt.Sprintf("%s (incident %s)", text, incident), whole}
}

// incidentLength is the number of characters of an incident id, which are of base 32.
const incidentLength = 8

// withDetails returns the whole error of a call for the host's own records.
func withDetails(err error) error {
	if e, ok := errors.AsType[*callerError](err); ok {
		return e.err
	}
	return err
}
