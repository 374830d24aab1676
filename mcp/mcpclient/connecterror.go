package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// joinAttempts returns the error of several attempts to connect to one server, which used
// different requests or transports. The error of a server that is there but does not work
// comes first: what the other attempts ran into follows from it. Errors may be nil.
func joinAttempts(attempts ...error) error {
	attempts = slices.DeleteFunc(attempts, func(err error) bool { return err == nil })
	slices.SortStableFunc(attempts, func(a, b error) int { return cmp.Compare(rankOf(b), rankOf(a)) })
	if len(attempts) == 1 {
		return attempts[0]
	}
	return &attemptsError{attempts}
}

// attemptsError is the errors of several attempts, the most important one first.
type attemptsError struct{ attempts []error }

func (e *attemptsError) Error() string {
	var texts []string
	for _, err := range e.attempts {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (e *attemptsError) Unwrap() []error { return e.attempts }

// rankOf says how much an error tells about the state of a server: 2 if the server does
// not work at present, 1 if it refuses a request, which may be because it does not
// support it.
func rankOf(err error) int {
	if e, ok := errors.AsType[*httpclient.StatusError](err); ok && (e.Status >= 500 || e.Status == http.StatusTooManyRequests) {
		return 2
	}
	if isTransport(err) {
		return 2
	}
	return 1
}

// commandError describes why a connection to a command could not be made: how the process
// ended, what it wrote last to standard error, also if it did not answer in time, and what it
// printed on standard output that is no message. The texts of the process are bounded and have no control
// characters.
func commandError(err error, child *stdio.Child) error {
	text := err.Error()
	if exit, ok := errors.AsType[*spawn.ExitError](err); ok {
		text = exitText(exit, err)
	} else if lines := child.LastLines(); len(lines) > 0 && errors.Is(err, context.DeadlineExceeded) {
		text += "; the last lines of its standard error: " + strings.Join(lines, " | ")
	}
	if lines, count := child.StrayLines(); count > 0 {
		text += "; standard output has lines that are not messages: " + strings.Join(lines, ", ")
		if more := count - len(lines); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	if text == err.Error() {
		return err
	}
	return &CommandError{Err: err, text: text}
}

// exitText describes the exit of a process during the handshake.
func exitText(exit *spawn.ExitError, err error) string {
	method := mcp.MethodInitialize
	if errors.Is(err, errProbeFatal) {
		method = mcp.MethodDiscover
	}
	text := fmt.Sprintf("the server %s before answering %s", exit.Reason, method)
	if lines := exit.LastLines(); len(lines) > 0 {
		text += ": " + strings.Join(lines, " | ")
	}
	return text
}

// CommandError is in the chain of the error of Connect if a Command was started and has written
// something: its text has the last lines of standard error and the first lines on standard output
// that are not messages. They may have secrets that the program was given.
type CommandError struct {
	// Err is the reason alone. It may be an ExitError, which has the last line.
	Err  error
	text string
}

func (e *CommandError) Error() string { return e.text }

// Unwrap returns Err.
func (e *CommandError) Unwrap() error { return e.Err }
