package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fondaco/fondaco/host/control"
)

// bridgeGrace is how long the answers to the last requests are waited for after standard
// input has ended, and outcomeWait how long then for the host to say whether all were answered. The host
// gives running requests ten seconds. Tests wait longer, because other tests have the processors.
var (
	bridgeGrace = 15 * time.Second
	outcomeWait = 3 * time.Second
)

// errHostEnded reports that the host of a client has ended before the client.
var errHostEnded = errors.New("the connection to the running host has ended; start the client's server again to use the next host")

// bridge connects standard input and output with a running host until one of the two ends.
// It copies bytes, so the client has a session of its own at the host and sees every
// message of the protocol, whatever its revision. It does not connect again: another host
// knows nothing of the session.
func (m *Main) bridge(ctx context.Context, h *foundHost) error {
	stream, err := h.stream(ctx)
	if err != nil {
		return codedErrorf(exitUnreachable, "connecting to the running host with process ID %d: %w", h.status.PID, err)
	}
	m.Info("connected to the running host with process ID %d", h.status.PID)
	fromHost, fromClient := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := io.Copy(m.Stdout, stream)
		fromHost <- err
	}()
	go func() { // reading standard input cannot be cancelled: it may wait until the process ends
		_, err := io.Copy(stream, m.Stdin)
		fromClient <- err
	}()
	select {
	case <-fromHost:
		_ = stream.Close()
	case <-ctx.Done():
		closeStream(stream, fromHost)
	case err := <-fromClient:
		if closeStream(stream, fromHost); err == nil && ctx.Err() == nil { // it sends nothing more
			return m.unanswered(ctx, stream)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &codedError{exitUnreachable, errHostEnded}
}

// unanswered returns an error if the host has not answered all requests before the stream has ended, or
// does not say whether it has.
func (m *Main) unanswered(ctx context.Context, stream control.Stream) error {
	ctx, cancel := context.WithTimeout(ctx, outcomeWait)
	defer cancel()
	switch err := stream.Outcome(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, control.ErrUnknownOutcome):
		return codedErrorf(exitInternal, "%w; %s audit search shows which calls have run", err, m.program())
	default:
		return &codedError{exitInternal, err}
	}
}

// closeStream tells the host that nothing more is sent, waits for its last answers, and
// closes the stream.
func closeStream(stream control.Stream, ended <-chan error) {
	_ = stream.CloseWrite()
	timer := time.AfterFunc(bridgeGrace, func() { _ = stream.Close() })
	defer timer.Stop()
	<-ended
	_ = stream.Close()
}

// stream opens a connection for one client.
func (r *foundHost) stream(ctx context.Context) (control.Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(answerLimit, func() {
		cancel(fmt.Errorf("found no answer in %v", answerLimit))
	})
	defer timer.Stop() // cancel would end the stream
	stream, err := r.client.Stream(ctx)
	if err != nil {
		err = cmp.Or(context.Cause(ctx), err)
		cancel(nil)
	}
	return stream, err
}
