package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// personWaitInterval is the time between two notifications of progress to a caller whose request waits
// for a person: clients give up a request about which they hear nothing.
const personWaitInterval = 5 * time.Second

// PersonWait reports to the caller of a request that a person is asked, for as long as the request
// waits for the answer.
type PersonWait struct {
	// Report sends progress with a message. Only one call is made at a time.
	Report func(message string)

	mu      sync.Mutex
	ended   chan struct{} // guarded by mu: closed by Stop; nil before Start
	stopped bool          // guarded by mu
	sender  sync.WaitGroup
}

// Start begins to report that a person is asked to do something, which a command does, too, until Stop is called. A
// further question of the same wait, and one after Stop, is not reported.
func (w *PersonWait) Start(toDo, command string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended != nil || w.stopped {
		return
	}
	ended := make(chan struct{})
	w.ended = ended
	w.sender.Go(func() {
		tick := time.NewTicker(personWaitInterval)
		defer tick.Stop()
		for {
			w.Report(fmt.Sprintf("waiting for a person to %s in Fondaco (its terminal, inbox or notification, or the command %q)", toDo, command))
			select {
			case <-tick.C:
			case <-ended:
				return
			}
		}
	})
}

// Stop ends the reports, and waits until the last one is sent. It must be called, also if the wait panics; more than one
// call has the effect of one.
func (w *PersonWait) Stop() {
	w.mu.Lock()
	if w.ended != nil && !w.stopped {
		close(w.ended)
	}
	w.stopped = true
	w.mu.Unlock()
	w.sender.Wait()
}

var _ link.PersonWaiter = (*call)(nil)

// WaitIdle implements link.PersonWaiter.
func (c *call) WaitIdle(ctx context.Context, begun func(wait context.Context), answered <-chan struct{}) error {
	if c.parked != nil {
		return c.parked.waitIdle(ctx, begun, answered)
	}
	return mcpserver.WaitIdle(ctx, func(ctx context.Context) error {
		begun(ctx)
		select {
		case <-answered:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// waitIdle is WaitIdle of a parked call. The request that waits for the call does not count as running. When
// another question ends its round, the wait goes on in the next one, and between two rounds without a request.
func (p *parkedCall) waitIdle(ctx context.Context, begun func(wait context.Context), answered <-chan struct{}) error {
	for {
		request, changed := p.attached()
		endOfRound := false
		wait := func(idle context.Context) error {
			begun(idle)
			select {
			case <-answered:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-changed:
				endOfRound = true
				return nil
			case <-idle.Done():
				return context.Cause(idle)
			}
		}
		var err error
		if request == nil || request.Err() != nil { // then the call ends, too
			err = wait(ctx)
		} else {
			err = mcpserver.WaitIdle(request, wait)
			endOfRound = endOfRound || request.Err() != nil
		}
		if !endOfRound {
			return err
		}
	}
}

// isWaitLimit reports whether an error of mcpserver.WaitIdle says that too many requests wait.
func isWaitLimit(err error) bool {
	code := mcp.CodeOf(err)
	return code == mcp.CodeRateLimited || code == mcp.CodeOverloaded || errors.Is(err, mcpserver.ErrAskExpired)
}

// WhyUnasked says for callers and servers why the user of the host could not be asked: too many requests
// wait, or the host has failed. Then the log gets the error and the attributes under an incident id.
func WhyUnasked(log *slog.Logger, err error, attributes ...any) string {
	if isWaitLimit(err) {
		return "too many other calls wait for a person now"
	}
	incident := NewIncident()
	log.Error("the user of the host could not be asked", append(attributes, "incident", incident, "error", err)...)
	return fmt.Sprintf("the host cannot read or write its questions (incident %s)", incident)
}
