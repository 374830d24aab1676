package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// response is a response of the server with the session that was named to it.
type response struct {
	*http.Response
	session string
}

// carry posts one request and hands on all that comes for it. It fails the
// call when no answer can come any more.
func (l *Link) carry(ctx context.Context, id jsonrpc.ID, out exchange.Outbound) {
	if err := l.exchange(ctx, id, out); err != nil {
		l.pending.Refuse(id, err)
		l.endIfLost(err)
	}
}

func (l *Link) endIfLost(err error) {
	if errors.Is(err, ErrSessionLost) {
		l.End(ErrSessionLost)
	}
}

func (l *Link) exchange(ctx context.Context, id jsonrpc.ID, out exchange.Outbound) error {
	resp, err := l.post(ctx, out.Message.Encode(id), &out.Message.Headers)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := resp.refusal(); err != nil {
		return notSent(err)
	}
	if out.Message.Method == mcp.MethodInitialize {
		if err := l.keepSession(resp.Header.Get(httpheader.SessionID)); err != nil {
			return err
		}
	}
	switch kind := mediaType(resp.Header); {
	case kind == httpheader.TypeEventStream && resp.ok():
		return l.followAnswer(ctx, id, resp)
	case kind == httpheader.TypeJSON:
		return l.readAnswer(id, resp)
	case resp.ok():
		return &dialect.ProtocolError{Err: &ContentError{Status: resp.StatusCode, Type: kind}}
	}
	return resp.notBegun()
}

// notBegun returns the error of a response without an answer. From a server that is
// leaving, which says so by closing the connection, the next request over another
// connection may find the one that takes over.
func (r *response) notBegun() error {
	err := &StatusError{Status: r.StatusCode, Header: r.Header}
	if r.Close && err.NotBegun() {
		return &exchange.NotSentError{Err: err, Alive: true}
	}
	return err
}

// readAnswer takes an answer in the form of one JSON text.
func (l *Link) readAnswer(id jsonrpc.ID, resp *response) error {
	data, err := l.readAll(resp.Body)
	if err != nil {
		return err
	}
	items, err := exchange.DecodeAll(data, l.Inbox.Limits())
	if err != nil && !resp.ok() {
		return statusError(resp.Response)
	}
	if err != nil {
		return dialect.Invalid("%w", err)
	}
	if resp.StatusCode == http.StatusServiceUnavailable && (isRefusal(items) || resp.Close && isOverload(items)) {
		return resp.notBegun()
	}
	answered := false
	for _, item := range items {
		m := item.Message
		if m.Kind == jsonrpc.Response && m.ID.IsZero() {
			m.ID = id // a server that could not read the id can have meant no other
		}
		answered = answered || isAnswer(m, id)
		l.take(m, id)
	}
	if !answered {
		return dialect.Invalid("HTTP %d without an answer to request %s", resp.StatusCode, id)
	}
	return nil
}

// isRefusal reports whether all that came is an error that names no request.
func isRefusal(items []jsonrpc.Item) bool {
	return len(items) == 1 && items[0].Message.Error != nil && items[0].Message.ID.IsZero()
}

// isOverload reports whether all that came is the refusal of a request by a server
// that has too much to do, or is leaving: the number of both is that of HTTP.
func isOverload(items []jsonrpc.Item) bool {
	return len(items) == 1 && items[0].Message.Error != nil && items[0].Message.Error.Code == http.StatusServiceUnavailable
}

func isAnswer(m jsonrpc.Message, id jsonrpc.ID) bool {
	return m.Kind == jsonrpc.Response && m.ID.Key() == id.Key()
}

// readAll reads a body of at most one message.
func (l *Link) readAll(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(l.MaxMessage)+1))
	switch {
	case err != nil:
		return nil, &StreamError{err}
	case len(data) > l.MaxMessage:
		return nil, fmt.Errorf("read response: longer than %d bytes", l.MaxMessage)
	}
	return data, nil
}

// take hands one message on to the call that it belongs to, or to the inbox. The id
// is that of the request on whose response stream it came, or zero.
func (l *Link) take(m jsonrpc.Message, of jsonrpc.ID) {
	switch m.Kind {
	case jsonrpc.Response:
		l.pending.Resolve(m)
	case jsonrpc.Request:
		l.answer(m)
	case jsonrpc.Notification:
		if id, ok := dialect.CancelledID(m); ok {
			if !l.running.Cancel(id, context.Canceled) {
				l.pending.Deliver(id, m)
			}
			return
		}
		if id, ok := dialect.BelongsTo(m); ok && l.pending.Deliver(id, m) {
			return
		}
		if m.Method == mcp.NotificationMessage && l.pending.DeliverLog(of, m) {
			return
		}
		l.Inbox.Notification(m)
	}
}

const (
	// maxAnswering bounds the server's requests that are answered at once, up to
	// when the server has taken the answers. As many again are refused, and what
	// comes on top is dropped: each answer is a connection, and the server need not
	// take any.
	maxAnswering = 64
	// answerTimeout is how long the server may take to take an answer.
	answerTimeout = 30 * time.Second
)

var errAnswerLate = fmt.Errorf("answer not taken within %v", answerTimeout)

// answer lets the inbox answer one request of the server, and posts the answer.
func (l *Link) answer(m jsonrpc.Message) {
	n := l.answering.Add(1)
	if n > maxAnswering {
		l.Inbox.Reached(mcp.LimitReached{Limit: mcp.LimitQuestions, Method: m.Method})
	}
	if n > 2*maxAnswering {
		l.answering.Add(-1)
		return
	}
	ctx, work := l.running.Begin(l.ctx, m.ID)
	if work == nil {
		l.answering.Add(-1)
		return
	}
	crowded := n > maxAnswering
	l.begin(func() {
		defer l.answering.Add(-1)
		var reply []byte
		if crowded {
			reply = exchange.TooManyQuestions(m.ID, maxAnswering).Body
		} else {
			reply = l.Inbox.Request(ctx, m)
		}
		if work.End() && reply != nil {
			ctx, stop := exchange.WithTimeout(l.ctx, answerTimeout, errAnswerLate)
			defer stop()
			_ = l.submit(ctx, reply, nil)
		}
	})
}

// submit posts a message that has no answer.
func (l *Link) submit(ctx context.Context, msg []byte, headers *dialect.OutHeaders) error {
	resp, err := l.post(ctx, msg, headers)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	defer exhaust(resp.Body)
	if err := resp.refusal(); err != nil {
		return notSent(err)
	}
	if !resp.ok() {
		return statusError(resp.Response)
	}
	return nil
}

// post sends one message and returns the response, whatever its status. Headers
// are those that the dialect gave to it; nil means those of the session alone.
func (l *Link) post(ctx context.Context, msg []byte, headers *dialect.OutHeaders) (*response, error) {
	return l.do(ctx, l.posting(msg, headers))
}

// posting is the request that carries one message.
func (l *Link) posting(msg []byte, headers *dialect.OutHeaders) *outgoing {
	return l.outgoing(http.MethodPost, msg, func(h http.Header) {
		h[httpheader.ContentType], h[httpheader.Accept] = isMessage, wantsAnswer
		if headers == nil {
			return
		}
		setHeader(h, httpheader.ProtocolVersion, headers.Version)
		setHeader(h, httpheader.Method, headers.Method)
		setHeader(h, httpheader.Name, headers.Name)
		for _, p := range headers.Params {
			h[http.CanonicalHeaderKey(httpheader.ParamPrefix+p.Name)] = []string{p.Value}
		}
	})
}

// What every post says, made once.
var (
	isMessage   = []string{httpheader.TypeJSON}
	wantsAnswer = []string{httpheader.TypeJSON + ", " + httpheader.TypeEventStream}
)

func setHeader(h http.Header, name, value string) {
	if value == "" {
		h.Del(name)
		return
	}
	h.Set(name, value)
}

// outgoing is a request of the session as it is now.
func (l *Link) outgoing(method string, body []byte, set func(http.Header)) *outgoing {
	l.mu.Lock()
	session, facts := l.session, l.facts
	l.mu.Unlock()
	return &outgoing{method: method, to: l.URL, body: body, session: session, header: func(h http.Header) {
		if facts != nil && facts.VersionHeader {
			h.Set(httpheader.ProtocolVersion, facts.Revision.String())
		}
		setHeader(h, httpheader.SessionID, session)
		set(h)
	}}
}

// do sends a request and returns the response, whatever its status.
func (l *Link) do(ctx context.Context, o *outgoing) (*response, error) {
	resp, err := l.send(ctx, o)
	if err != nil {
		return nil, err
	}
	return &response{resp, o.session}, nil
}

// transportError names the origin only: paths and queries may hold secrets.
func transportError(req *http.Request, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &TransportError{Op: req.Method + " " + egress.Origin(req.URL), Err: err}
}

// keepSession keeps the session id that came with the answer to initialize.
//
// Spec: 2025-11-25 basic/transports#session-management
func (l *Link) keepSession(id string) error {
	if strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return dialect.Invalid("session id: want visible ASCII")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = id
	return nil
}

// delete ends the session on the server. Not every server lets clients do that.
func (l *Link) delete(session string) {
	ctx, stop := context.WithTimeout(context.Background(), l.CloseTimeout)
	defer stop()
	l.sayOnce(ctx, l.outgoing(http.MethodDelete, nil, func(h http.Header) { h.Set(httpheader.SessionID, session) }))
}

func (r *response) ok() bool { return r.StatusCode >= 200 && r.StatusCode < 300 }

// refusal returns the error for a response that is not about the message at
// all: the session is gone, or the sender is not let in.
func (r *response) refusal() error {
	switch {
	case r.StatusCode == http.StatusNotFound && r.session != "":
		return ErrSessionLost
	case wantsCredentials(r.Response):
		return statusError(r.Response)
	}
	return nil
}

// notSent marks a message that came to a session which the server has
// forgotten: it was not looked at.
func notSent(err error) error {
	if err == ErrSessionLost {
		return &exchange.NotSentError{Err: err}
	}
	return err
}

func statusError(r *http.Response) error {
	return &StatusError{Status: r.StatusCode, Header: r.Header}
}

func mediaType(h http.Header) string {
	if t := h[httpheader.ContentType]; len(t) == 1 && (t[0] == httpheader.TypeJSON || t[0] == httpheader.TypeEventStream) {
		return t[0]
	}
	kind, _, err := mime.ParseMediaType(h.Get(httpheader.ContentType))
	if err != nil {
		return ""
	}
	return kind
}

const (
	exhaustTime = time.Second
	exhaustSize = 64 << 10
)

// exhaust reads what little is left of a body, so that its connection can be used
// again.
func exhaust(body io.ReadCloser) {
	late := time.AfterFunc(exhaustTime, func() { body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, exhaustSize)
}
