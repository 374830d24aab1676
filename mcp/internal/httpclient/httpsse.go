package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// endpointEvent is the name of the first event of HTTP+SSE.
const endpointEvent = "endpoint"

// sseConn is the client's side of HTTP+SSE: the server sends all its messages on one event
// stream, and the client posts its messages to the endpoint that the server names.
type sseConn struct {
	p        ClientParams
	endpoint *url.URL
	body     io.ReadCloser
	events   *sse.Reader

	ctx    context.Context // of the event stream and of every POST
	cancel context.CancelFunc
	once   sync.Once
}

// DialEventStream connects to a server of HTTP+SSE. The context bounds the dialing alone.
// Inbox, Gap and CloseTimeout of p are not used.
//
// Spec: 2024-11-05 basic/transports#http-with-sse
func DialEventStream(ctx context.Context, p ClientParams) (mcp.Conn, error) {
	c := &sseConn{p: p}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, c.cancel)()
	if err := c.connect(); err != nil {
		_ = c.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return c, nil
}

func (c *sseConn) connect() error {
	resp, err := c.send(c.ctx, http.MethodGet, c.p.URL, nil, func(h http.Header) { h.Set(httpheader.Accept, httpheader.TypeEventStream) })
	if err != nil {
		return err
	}
	c.body = resp.Body
	if kind := mediaType(resp.Header); kind != httpheader.TypeEventStream {
		return &ContentError{Status: resp.StatusCode, Type: kind}
	}
	c.events = sse.NewReader(resp.Body, c.p.MaxMessage)
	ev, err := c.events.Next()
	if err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	if ev.Name != endpointEvent {
		return fmt.Errorf("event %q: want the first event to be %q", ev.Name, endpointEvent)
	}
	return c.setEndpoint(string(ev.Data))
}

// setEndpoint sets the endpoint that the server names. It refuses one of another origin,
// which would get the messages and credentials of the user.
func (c *sseConn) setEndpoint(ref string) error {
	u, err := c.p.URL.Parse(ref)
	if err != nil {
		return errors.New("endpoint event: want a URI")
	}
	if egress.Origin(u) != egress.Origin(c.p.URL) {
		return fmt.Errorf("endpoint event: want the origin %s, found %s", egress.Origin(c.p.URL), egress.Origin(u))
	}
	c.endpoint = u
	return nil
}

// Read implements mcp.Conn.
func (c *sseConn) Read(ctx context.Context) ([]byte, error) {
	defer context.AfterFunc(ctx, c.cancel)()
	for {
		ev, err := c.events.Next()
		if long, ok := errors.AsType[*sse.OversizedError](err); ok {
			return nil, &mcp.FrameError{Reason: c.p.tooLong(), Head: long.Head, Tail: long.Tail}
		}
		if err != nil {
			return nil, err
		}
		if len(ev.Data) > 0 && (ev.Name == "" || ev.Name == "message") {
			return ev.Data, nil
		}
	}
}

// Write implements mcp.Conn. The server may begin to process a message before the response to
// the POST arrives.
func (c *sseConn) Write(caller context.Context, msg []byte) error {
	ctx, stop := context.WithCancel(caller)
	defer stop()
	defer context.AfterFunc(c.ctx, stop)()
	resp, err := c.send(ctx, http.MethodPost, c.endpoint, msg, func(h http.Header) { h.Set(httpheader.ContentType, httpheader.TypeJSON) })
	if err != nil && caller.Err() != nil {
		return fmt.Errorf("%w: %w", exchange.ErrMaybeSent, err)
	}
	if err != nil {
		return writeError(err)
	}
	drainBody(resp.Body)
	return resp.Body.Close()
}

// writeError returns the error of a message that was refused. Messages before it have arrived, so
// a failure of a proxy or of one replica is not that of the connection.
func writeError(err error) error {
	e, ok := errors.AsType[*StatusError](err)
	switch {
	case !ok:
		return err
	case e.Status == http.StatusNotFound:
		return &exchange.NotSentError{Err: &SessionLostError{Status: e}} // the stream may end only later
	case e.NotBegun():
		return &exchange.NotSentError{Err: e, Alive: true}
	case e.Status >= http.StatusInternalServerError:
		return &exchange.MessageError{Err: e}
	}
	return err
}

func (c *sseConn) send(ctx context.Context, method string, to *url.URL, body []byte, set func(http.Header)) (*http.Response, error) {
	resp, err := c.p.send(ctx, &outgoing{method: method, to: to, body: body, header: set})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		drainBody(resp.Body)
		resp.Body.Close()
		return nil, statusError(resp)
	}
	return resp, nil
}

// Close implements mcp.Conn.
func (c *sseConn) Close() error {
	c.once.Do(func() {
		c.cancel()
		if c.body != nil {
			_ = c.body.Close()
		}
		c.p.HTTP.CloseIdleConnections()
	})
	return nil
}
