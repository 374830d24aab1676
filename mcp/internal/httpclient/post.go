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

// response is a response of the server to a message.
type response struct {
	*http.Response
	session string // id of the session of the message, or empty
}

// roundTrip posts one request and delivers all messages of the response. It fails the
// call if no answer can come any more.
func (l *Link) roundTrip(ctx context.Context, id jsonrpc.ID, out exchange.Outbound) {
	if err := l.exchange(ctx, id, out); err != nil {
		l.endIfLost(err) // first, because the caller sends the request again at once
		l.pending.Refuse(id, err)
	}
}

func (l *Link) exchange(ctx context.Context, id jsonrpc.ID, out exchange.Outbound) error {
	resp, err := l.post(ctx, out.Message.Encode(id), &out.Message.Headers)
	if refused, ok := errors.AsType[*credentialsError](err); ok {
		return l.forbidden(id, refused.body, err)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := resp.refusal(); err != nil {
		if answersWith403(resp.Response) {
			return l.forbidden(id, l.readRefusal(resp.Response), err)
		}
		return err
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
		return l.readAnswer(id, resp, out.Repeated)
	case resp.ok():
		return &dialect.ProtocolError{Err: &ContentError{Status: resp.StatusCode, Type: kind}}
	}
	if err := l.sessionRefused(resp, nil, out.Repeated); err != nil {
		return err
	}
	return resp.withoutAnswer()
}

// withoutAnswer returns the error of a response without an answer. A server that shuts
// down closes the connection; the same request on another connection may then reach its
// replacement, so the error is a NotSentError.
func (r *response) withoutAnswer() error {
	err := &StatusError{Status: r.StatusCode, Header: r.Header}
	if r.Close && err.NotBegun() {
		return &exchange.NotSentError{Err: err, Alive: true}
	}
	return err
}

// readAnswer reads and delivers an answer in JSON.
func (l *Link) readAnswer(id jsonrpc.ID, resp *response, repeated bool) error {
	data, err := l.readAll(resp.Body)
	if err != nil {
		return err
	}
	items, bad := exchange.DecodeAll(data, l.Inbox.Limits())
	if bad != nil && !resp.ok() {
		if err := l.sessionRefused(resp, nil, repeated); err != nil {
			return err
		}
		return statusError(resp.Response)
	}
	if bad != nil {
		return dialect.Invalid("%w", bad)
	}
	if refusal, ok := refusalOfSession(items, id); ok {
		if err := l.sessionRefused(resp, refusal, repeated); err != nil {
			return err
		}
	}
	if resp.StatusCode == http.StatusServiceUnavailable && (isRefusal(items) || resp.Close && isOverload(items)) {
		return resp.withoutAnswer()
	}
	answered := false
	for _, item := range items {
		if item.Err != nil {
			if err := l.malformed(item.Err, id); err != nil {
				return err
			}
			continue
		}
		m := item.Message
		if m.Kind == jsonrpc.Response && m.ID.IsZero() {
			m.ID = id // the error of a server that could not read the id
		}
		answered = answered || isAnswer(m, id)
		l.deliver(m, id)
	}
	if !answered {
		return dialect.Invalid("HTTP %d without an answer to request %s", resp.StatusCode, id)
	}
	return nil
}

// forbidden returns the error of a request that was answered with 401 or 403. If the body of
// a 403 is the answer to the request, it delivers that instead and returns nil. Before a
// revision is negotiated the status says that the client may not use the server, and the
// answer says why.
func (l *Link) forbidden(id jsonrpc.ID, body []byte, err error) error {
	if body == nil {
		return err
	}
	m, bad := jsonrpc.Decode(body, l.Inbox.Limits())
	if bad != nil || m.Error == nil || !m.ID.IsZero() && !isAnswer(m, id) {
		return err
	}
	if l.negotiated() == nil {
		return &forbiddenError{dialect.Newest(dialect.SessionEra).Error(m.Error), err}
	}
	m.ID = id
	l.deliver(m, id)
	return nil
}

// forbiddenError is the error of a server that does not let the client in.
type forbiddenError struct {
	reason *mcp.Error
	err    error // with the status
}

func (e *forbiddenError) Error() string { return e.reason.Error() + " (" + e.err.Error() + ")" }

func (e *forbiddenError) Unwrap() []error { return []error{e.reason, e.err} }

// isRefusal reports whether the body is one error without an id.
func isRefusal(items []jsonrpc.Item) bool {
	return len(items) == 1 && items[0].Message.Error != nil && items[0].Message.ID.IsZero()
}

// isOverload reports whether the body is one error with the code 503: the server is
// overloaded or shuts down.
func isOverload(items []jsonrpc.Item) bool {
	return len(items) == 1 && items[0].Message.Error != nil && items[0].Message.Error.Code == http.StatusServiceUnavailable
}

func isAnswer(m jsonrpc.Message, id jsonrpc.ID) bool {
	return m.Kind == jsonrpc.Response && m.ID.NumberKey() == id.Key()
}

// readAll reads a body of at most one message.
func (l *Link) readAll(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(l.MaxMessage)+1))
	switch {
	case err != nil:
		return nil, &StreamError{err}
	case len(data) > l.MaxMessage:
		l.Inbox.LimitReached(mcp.LimitReached{Limit: mcp.LimitMessageBytes})
		return nil, dialect.Invalid("%s", l.tooLong())
	}
	wireOf(body).pass(data, false)
	return data, nil
}

// tooLong returns what is wrong with a message that exceeds MaxMessage. Users of programs read it,
// too: the option is in parentheses.
func (p *ClientParams) tooLong() string {
	return fmt.Sprintf("message longer than %d bytes, the limit of the client (in Go: %s)", p.MaxMessage, p.MaxMessageSetting)
}

// malformed processes a message that could not be decoded. of is the id of the request on
// whose response stream it arrived, or zero. The error says that it is the response to this
// request; a response whose id is not recognized is one.
func (l *Link) malformed(bad *jsonrpc.DecodeError, of jsonrpc.ID) error {
	for ; bad != nil; bad = bad.Next {
		response := exchange.IsMalformedResponse(bad)
		switch {
		case !of.IsZero() && response && bad.ID.Key() == of.Key(),
			!of.IsZero() && bad.Kind == jsonrpc.Response && bad.ID.IsZero():
			return dialect.Invalid("%w", bad)
		case response && exchange.RefuseResponse(&l.pending, bad):
		default:
			l.answerMalformed(l.Inbox.Malformed(bad))
		}
	}
	return nil
}

// deliver passes one message to its call, or to the inbox. of is the id of the request on whose
// response stream the message arrived, or zero.
func (l *Link) deliver(m jsonrpc.Message, of jsonrpc.ID) {
	switch m.Kind {
	case jsonrpc.Response:
		l.pending.Resolve(m)
	case jsonrpc.Request:
		l.answerRequest(m)
	case jsonrpc.Notification:
		if id, cause, ok := dialect.Cancelled(m); ok {
			if !l.running.Cancel(id, cause) {
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
	// maxAnswers bounds the requests of the server that are answered at the same time,
	// until the server has received the answers. As many again are refused, and further
	// ones are dropped, because each answer needs a connection and the server may not
	// accept any.
	maxAnswers = 64
	// answerTimeout bounds the POST of an answer.
	answerTimeout = 30 * time.Second
	// minAnswerPause is the time before an answer is posted again. It doubles each time.
	minAnswerPause = 250 * time.Millisecond
	maxAnswerPause = 2 * time.Second
)

var errAnswerTimeout = fmt.Errorf("answer not accepted within %v", answerTimeout)

// answerRequest processes one request of the server with the inbox, and posts the answer.
func (l *Link) answerRequest(m jsonrpc.Message) {
	n := l.answers.Add(1)
	if n > maxAnswers {
		l.Inbox.LimitReached(mcp.LimitReached{Limit: mcp.LimitQuestions, Method: m.Method})
	}
	if n > 2*maxAnswers {
		l.answers.Add(-1)
		return
	}
	ctx, work := l.running.Begin(l.ctx, m.ID)
	if work == nil {
		l.answers.Add(-1)
		return
	}
	crowded := n > maxAnswers
	l.goTracked(func() {
		defer l.answers.Add(-1)
		var reply []byte
		if crowded {
			reply = exchange.TooManyQuestions(m.ID, maxAnswers).Body
		} else {
			reply = l.Inbox.Request(ctx, m)
		}
		if work.End() && reply != nil {
			l.postAnswer(reply)
		}
	})
}

// answerMalformed posts the answer to a request that could not be decoded, unless too many
// answers are under way. Nil is no answer.
func (l *Link) answerMalformed(reply []byte) {
	if reply == nil {
		return
	}
	if l.answers.Add(1) > maxAnswers {
		l.answers.Add(-1)
		return
	}
	l.goTracked(func() {
		defer l.answers.Add(-1)
		l.postAnswer(reply)
	})
}

// postAnswer posts the answer to a request of the server, within answerTimeout. It posts the
// answer again after a failure that may end, such as that of one replica of several: a server
// ignores an answer that it has got already.
func (l *Link) postAnswer(reply []byte) {
	ctx, stop := exchange.WithTimeout(l.ctx, answerTimeout, errAnswerTimeout)
	defer stop()
	for pause := minAnswerPause; mayEnd(l.postWithoutAnswer(ctx, reply, nil)); pause = min(2*pause, maxAnswerPause) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// mayEnd reports whether a failure may be gone a moment later: there was no response, or one
// that says so. A sign-in that was refused is not asked for again.
func mayEnd(err error) bool {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Status >= http.StatusBadGateway && e.Status <= http.StatusGatewayTimeout
	}
	e, ok := errors.AsType[*TransportError](err)
	return ok && !e.NoCredentials
}

// postWithoutAnswer posts a notification or a response.
func (l *Link) postWithoutAnswer(ctx context.Context, msg []byte, headers *dialect.OutHeaders) error {
	resp, err := l.post(ctx, msg, headers)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	defer drainBody(resp.Body)
	if err := resp.refusal(); err != nil {
		return err
	}
	if !resp.ok() {
		return statusError(resp.Response)
	}
	return nil
}

// post sends one message and returns the response, whatever its status. The headers are
// those of the dialect for the message; nil means only those of the session.
func (l *Link) post(ctx context.Context, msg []byte, headers *dialect.OutHeaders) (*response, error) {
	return l.do(ctx, l.newPost(msg, headers))
}

// newPost returns the POST of one message.
func (l *Link) newPost(msg []byte, headers *dialect.OutHeaders) *outgoing {
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

// Header values of every POST.
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

// outgoing returns a request in the current session.
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

// transportError returns a TransportError with the origin of the URL only, because paths
// and queries may have secrets.
func transportError(req *http.Request, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &TransportError{Op: req.Method + " " + egress.Origin(req.URL), Err: err}
}

// keepSession stores the session id of the answer to initialize.
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
func (l *Link) delete(session string, timeout time.Duration) {
	ctx, stop := context.WithTimeout(context.Background(), timeout)
	defer stop()
	l.sendAndForget(ctx, l.outgoing(http.MethodDelete, nil, func(h http.Header) { h.Set(httpheader.SessionID, session) }))
}

func (r *response) ok() bool { return r.StatusCode >= 200 && r.StatusCode < 300 }

// refusal returns an error if the response does not concern the message: the session is
// lost, or the credentials are refused.
func (r *response) refusal() error {
	switch {
	case r.StatusCode == http.StatusNotFound && r.session != "":
		return &exchange.NotSentError{Err: &SessionLostError{Status: statusError(r.Response)}}
	case wantsCredentials(r.Response):
		return statusError(r.Response)
	}
	return nil
}

func statusError(r *http.Response) *StatusError {
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
	drainTime = time.Second
	drainSize = 64 << 10
)

// drainBody reads up to drainSize bytes of a body, for up to drainTime, so that the
// connection can be reused.
func drainBody(body io.ReadCloser) {
	late := time.AfterFunc(drainTime, func() { body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, drainSize)
}
