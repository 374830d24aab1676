package httpclient

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// How long a reader of a broken stream waits before it connects again. A server
// that asks for less than the least would be flooded, and for one that asks for
// more than the most every call has long been given up.
const (
	defaultRetry = time.Second
	leastRetry   = 500 * time.Millisecond
	mostRetry    = 10 * time.Minute
	// mostBackoff is how far the pause after fruitless connections grows when the
	// server did not ask for a longer one.
	mostBackoff = time.Minute
)

// maxFruitless bounds the connections in a row that bring no event, when a call
// waits for one.
const maxFruitless = 5

// StreamError reports that the stream which was to bring an answer ended without
// it and could not be taken up again. The server may have done what was asked.
type StreamError struct{ Err error }

func (e *StreamError) Error() string { return "stream ended before the answer: " + e.Err.Error() }

// Unwrap gives access to the end of the stream.
func (e *StreamError) Unwrap() error { return e.Err }

// eventSource is one event stream of the server, over all the connections that it
// takes.
type eventSource struct {
	link    *Link
	of      jsonrpc.ID    // of the request that it answers, or zero
	last    string        // id of the last event that had one
	resumed string        // what last was when the connection was made
	retry   time.Duration // as the server wished

	tried  bool // to open the standalone stream
	opened bool // the standalone stream was open before
}

// followAnswer takes the messages of the stream that a request was answered
// with, up to the answer. In revisions that can, a stream that breaks or that the
// server closes for the time being is taken up again behind the last event.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
func (l *Link) followAnswer(ctx context.Context, id jsonrpc.ID, resp *response) error {
	s := &eventSource{link: l, of: id}
	answered := func(m jsonrpc.Message) bool { return isAnswer(m, id) }
	for fruitless := 0; ; fruitless++ {
		events, err := s.read(resp.Body, answered)
		if err == nil {
			exhaust(resp.Body)
		}
		resp.Body.Close()
		if err == nil {
			return nil
		}
		if events > 0 {
			fruitless = 0
		}
		if !s.resumable(ctx, err) || fruitless >= maxFruitless {
			return &StreamError{err}
		}
		if resp, err = s.reopen(ctx, fruitless); err != nil {
			return &StreamError{err}
		}
	}
}

func (s *eventSource) resumable(ctx context.Context, err error) bool {
	f := s.link.agreed()
	_, malformed := errors.AsType[*jsonrpc.DecodeError](err)
	return f != nil && f.Resume && s.last != "" && ctx.Err() == nil && !malformed && !errors.Is(err, sse.ErrTooLong)
}

// read takes the messages of one connection until one is the last. It returns
// how many events came, and why there was no last one.
func (s *eventSource) read(body io.Reader, last func(jsonrpc.Message) bool) (events int, err error) {
	r := sse.NewReader(body, s.link.MaxMessage)
	for {
		ev, err := r.Next()
		if err != nil {
			return events, err
		}
		events++
		again := events == 1 && ev.ID != "" && ev.ID == s.resumed
		s.last = cmp.Or(ev.ID, s.last)
		if ev.Retry > 0 {
			s.retry = ev.Retry
		}
		if again || len(ev.Data) == 0 || ev.Name != "" && ev.Name != "message" {
			continue // nothing, or what had come before
		}
		done, err := s.take(ev.Data, last)
		if done || err != nil {
			return events, err
		}
	}
}

// take hands on the messages of one event.
func (s *eventSource) take(data []byte, last func(jsonrpc.Message) bool) (done bool, err error) {
	items, err := exchange.DecodeAll(data, s.link.Inbox.Limits())
	if err != nil {
		return false, s.malformed(err, last)
	}
	for _, item := range items {
		done = done || last(item.Message)
		s.link.take(item.Message, s.of)
	}
	return done, nil
}

// malformed returns an error when the event would have been the last one; other
// events that cannot be read are passed over.
func (s *eventSource) malformed(err error, last func(jsonrpc.Message) bool) error {
	bad, ok := errors.AsType[*jsonrpc.DecodeError](err)
	if ok && bad.Kind == jsonrpc.Response && last(jsonrpc.Message{Kind: jsonrpc.Response, ID: bad.ID}) {
		return dialect.Invalid("%w", bad)
	}
	return nil
}

// reopen connects again behind the last event.
func (s *eventSource) reopen(ctx context.Context, fruitless int) (*response, error) {
	for ; ; fruitless++ {
		if err := s.pause(ctx, fruitless); err != nil {
			return nil, err
		}
		resp, err := s.open(ctx)
		if err == nil || refused(err) || fruitless >= maxFruitless {
			return resp, err
		}
	}
}

// pause waits as long as the server wished, and longer after fruitless
// connections.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server, on retry
func (s *eventSource) pause(ctx context.Context, fruitless int) error {
	wish := min(max(cmp.Or(s.retry, defaultRetry), leastRetry), mostRetry)
	wait := max(wish, min(wish<<min(fruitless, 6), mostBackoff))
	timer := time.NewTimer(wait + rand.N(wait/10))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open makes one connection. It ends the link when the session is gone.
func (s *eventSource) open(ctx context.Context) (*response, error) {
	s.resumed = s.last
	resp, err := s.link.do(ctx, s.link.outgoing(http.MethodGet, nil, func(h http.Header) {
		h.Set(httpheader.Accept, httpheader.TypeEventStream)
		setHeader(h, httpheader.LastEventID, s.last)
	}))
	if err != nil {
		return nil, err
	}
	if err = resp.refusal(); err == ErrSessionLost {
		s.link.End(err)
	}
	switch kind := mediaType(resp.Header); {
	case err != nil:
	case !resp.ok():
		err = statusError(resp.Response)
	case kind != httpheader.TypeEventStream:
		err = &ContentError{Status: resp.StatusCode, Type: kind}
	default:
		return resp, nil
	}
	exhaust(resp.Body)
	resp.Body.Close()
	return nil, err
}

// refused reports whether it is of no use to try the connection again.
func refused(err error) bool {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Status < 500 && e.Status != http.StatusTooManyRequests
	}
	_, content := errors.AsType[*ContentError](err)
	return content || errors.Is(err, ErrSessionLost)
}

// steadyTime is how long a standalone stream without events has to last so that
// it is reopened without back-off: proxies end idle streams after half a minute
// or more.
const steadyTime = 10 * time.Second

// standalone keeps the stream open that brings what belongs to no call, for as
// long as the link lives. Servers need not offer one: a refusal of the first
// connection is final, and so are a missing method and missing credentials later.
// Everything else, such as a stream that the server closes at once, is tried again
// with back-off, because notifications would be lost otherwise. attempted is called
// after the first connection attempt, whatever its outcome.
//
// Spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server
func (l *Link) standalone(attempted func()) {
	s := &eventSource{link: l}
	for fruitless := 0; ; {
		began := time.Now()
		events, err := s.listen(attempted)
		switch {
		case events > 0 || err == nil && time.Since(began) >= steadyTime:
			fruitless = 0
		case err != nil && refused(err) && s.last != "":
			s.last = "" // the server no longer has what was missed
		case err != nil && refused(err) && (!s.opened || withdrawn(err)):
			return
		default:
			fruitless++
		}
		if s.pause(l.ctx, fruitless) != nil {
			return
		}
	}
}

// withdrawn reports whether the server no longer offers the standalone stream, or
// not to this client.
func withdrawn(err error) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// listen takes the messages of one connection of the standalone stream.
func (s *eventSource) listen(attempted func()) (events int, err error) {
	again := s.tried
	s.tried = true
	resp, err := s.open(s.link.ctx)
	attempted()
	if err != nil {
		return 0, err
	}
	s.opened = true
	defer resp.Body.Close()
	if again && s.last == "" && s.link.Gap != nil {
		s.link.Gap()
	}
	events, _ = s.read(resp.Body, func(jsonrpc.Message) bool { return false })
	return events, nil
}
