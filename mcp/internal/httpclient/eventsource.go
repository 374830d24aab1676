package httpclient

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/backoff"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// Pauses before a client reconnects to a broken stream. Shorter ones than minRetry would
// flood the server even if it asks for them. Every call ends long before maxRetry.
const (
	defaultRetry = time.Second
	minRetry     = 500 * time.Millisecond
	maxRetry     = 10 * time.Minute
	// maxBackoff bounds the pause after connections without an event, unless the server
	// asked for a longer one.
	maxBackoff = time.Minute
)

// maxFruitless bounds the consecutive connections without an event while a call waits
// for its answer.
const maxFruitless = 5

// StreamError reports that the stream on which the answer was to arrive ended without it
// and could not be resumed. The server may have processed the request.
type StreamError struct{ Err error }

func (e *StreamError) Error() string { return "stream ended before the answer: " + e.Err.Error() }

// Unwrap returns why the stream ended.
func (e *StreamError) Unwrap() error { return e.Err }

// ErrEndpointEvent reports that a request was answered with an event stream that begins
// with the event of HTTP+SSE: the server answers every method at its address with it.
var ErrEndpointEvent = errors.New("the server answers with the event stream of HTTP+SSE")

// eventSource reads one event stream of the server over one or more connections.
type eventSource struct {
	link      *Link
	requestID jsonrpc.ID    // of the request that the stream answers, or zero
	lastID    string        // id of the last event that had one
	resumeID  string        // lastID when the connection was made
	retry     time.Duration // requested by the server

	attempted bool // to open the standalone stream
	opened    bool // the standalone stream was open before
}

// followAnswer reads the messages of the stream that answers a request, up to the
// answer. If the revision has resumption, it resumes a stream that breaks or that the
// server closes before the answer, after the last event.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
func (l *Link) followAnswer(ctx context.Context, id jsonrpc.ID, resp *response) error {
	s := &eventSource{link: l, requestID: id}
	answered := func(m jsonrpc.Message) bool { return isAnswer(m, id) }
	for fruitless := 0; ; fruitless++ {
		events, err := s.read(resp.Body, answered)
		if err == nil {
			drainBody(resp.Body)
		}
		resp.Body.Close()
		if err == nil {
			return nil
		}
		if _, answer := errors.AsType[*dialect.ProtocolError](err); answer {
			return err
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
	f := s.link.negotiated()
	return f != nil && f.Resume && s.lastID != "" && ctx.Err() == nil && !errors.Is(err, sse.ErrTooLong)
}

// read delivers the messages of one connection up to the one for which last returns
// true. It returns the number of events, and an error if no message was the last.
func (s *eventSource) read(body io.Reader, last func(jsonrpc.Message) bool) (events int, err error) {
	r := sse.NewReader(body, s.link.MaxMessage)
	for {
		ev, err := r.Next()
		if long, ok := errors.AsType[*sse.OversizedError](err); ok {
			events++
			s.lastID = cmp.Or(long.ID, s.lastID)
			if err := s.oversized(long); err != nil {
				return events, err
			}
			continue
		}
		if err != nil {
			return events, err
		}
		events++
		if events == 1 && ev.Name == endpointEvent && s.link.negotiated() == nil {
			return events, ErrEndpointEvent
		}
		again := events == 1 && ev.ID != "" && ev.ID == s.resumeID
		s.lastID = cmp.Or(ev.ID, s.lastID)
		if ev.Retry > 0 {
			s.retry = ev.Retry
		}
		if again || len(ev.Data) == 0 || ev.Name != "" && ev.Name != "message" {
			continue // no message, or one that was read before
		}
		wireOf(body).pass(ev.Data, true)
		done, err := s.deliver(ev.Data, last)
		if done || err != nil {
			return events, err
		}
	}
}

// deliver delivers the messages of one event. An error means that one of them is the
// response to the request, and cannot be decoded.
func (s *eventSource) deliver(data []byte, last func(jsonrpc.Message) bool) (done bool, err error) {
	items, bad := exchange.DecodeAll(data, s.link.Inbox.Limits())
	if bad != nil {
		return false, s.link.malformed(bad, s.requestID)
	}
	for _, item := range items {
		if item.Err != nil {
			if err := s.link.malformed(item.Err, s.requestID); err != nil {
				return false, err
			}
			continue
		}
		done = done || last(item.Message)
		s.link.deliver(item.Message, s.requestID)
	}
	return done, nil
}

// oversized processes an event that exceeds the limit. One of which nothing is recognized is
// taken for the response, because other messages are small.
func (s *eventSource) oversized(long *sse.OversizedError) error {
	s.link.Inbox.LimitReached(mcp.LimitReached{Limit: mcp.LimitMessageBytes})
	bad := jsonrpc.Incomplete(s.link.tooLong(), long.Head, long.Tail)
	if bad.Kind == jsonrpc.Invalid && bad.ID.IsZero() {
		bad.Kind = jsonrpc.Response
	}
	return s.link.malformed(bad, s.requestID)
}

// reopen reconnects, to resume after the last event.
func (s *eventSource) reopen(ctx context.Context, fruitless int) (*response, error) {
	for ; ; fruitless++ {
		if err := s.pause(ctx, fruitless); err != nil {
			return nil, err
		}
		resp, err := s.open(ctx)
		if err == nil || isFinal(err) || fruitless >= maxFruitless {
			return resp, err
		}
	}
}

// pause waits as long as the server asked for, and longer after connections without an
// event.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server, on retry
func (s *eventSource) pause(ctx context.Context, fruitless int) error {
	wish := min(max(cmp.Or(s.retry, defaultRetry), minRetry), maxRetry)
	wait := max(wish, backoff.Pause(min(fruitless, 6)+1, wish, maxBackoff))
	timer := time.NewTimer(wait + rand.N(wait/10))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open makes one connection. A refusal does not say that the session is lost: a server without
// such a stream refuses it, too. A request finds out, unless this is the first stream of the session.
func (s *eventSource) open(ctx context.Context) (*response, error) {
	s.resumeID = s.lastID
	resp, err := s.link.do(ctx, s.link.outgoing(http.MethodGet, nil, func(h http.Header) {
		h.Set(httpheader.Accept, httpheader.TypeEventStream)
		setHeader(h, httpheader.LastEventID, s.lastID)
	}))
	if err != nil {
		return nil, err
	}
	switch kind := mediaType(resp.Header); {
	case !resp.ok():
		err = statusError(resp.Response)
		if s.opened || !s.requestID.IsZero() {
			s.link.checkAfter(err)
		}
	case kind != httpheader.TypeEventStream:
		err = &ContentError{Status: resp.StatusCode, Type: kind}
	default:
		return resp, nil
	}
	drainBody(resp.Body)
	resp.Body.Close()
	return nil, err
}

// isFinal reports whether to give up the stream after err.
func isFinal(err error) bool {
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

// standalone keeps the stream for messages that belong to no call open until the link ends.
// Servers need not offer it: a refusal of the first connection is final, and so are the statuses
// 401, 403 and 405 later. After every other failure, and when the server closes the
// stream, it reconnects with back-off, because notifications would be lost otherwise. attempted
// is called after the first connection attempt, whether it succeeds or not.
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
		case err != nil && isFinal(err) && s.lastID != "":
			s.lastID = "" // the server no longer has the missed events
		case err != nil && isFinal(err) && (!s.opened || isWithdrawn(err)):
			return
		default:
			fruitless++
		}
		if s.pause(l.ctx, fruitless) != nil {
			return
		}
	}
}

// isWithdrawn reports whether the server no longer offers the standalone stream, or
// not to this client.
func isWithdrawn(err error) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// listen delivers the messages of one connection of the standalone stream.
func (s *eventSource) listen(attempted func()) (events int, err error) {
	again := s.attempted
	s.attempted = true
	resp, err := s.open(s.link.ctx)
	attempted()
	if err != nil {
		return 0, err
	}
	s.opened = true
	defer resp.Body.Close()
	if again && s.lastID == "" && s.link.Gap != nil {
		s.link.Gap()
	}
	events, _ = s.read(resp.Body, func(jsonrpc.Message) bool { return false })
	return events, nil
}
