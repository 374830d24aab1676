package httpclient

import (
	"io"
	"net/http"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// wiredBody is the body of a response whose messages are passed to ClientParams.OnMessage.
// It is found by wireOf.
type wiredBody struct {
	io.ReadCloser
	wire   *exchange.Wire
	resp   *http.Response
	passed atomic.Bool // the response, or a message of it
}

// wireOf returns body if it is a *wiredBody, else nil. The methods below may be called for nil.
func wireOf(body io.Reader) *wiredBody {
	wired, _ := body.(*wiredBody)
	return wired
}

// pass passes a message of the response, the first one with the headers.
func (b *wiredBody) pass(data []byte, event bool) {
	if b == nil {
		return
	}
	h := &mcp.WireHTTP{Status: b.resp.StatusCode, Event: event}
	if !b.passed.Swap(true) {
		h.Header = b.resp.Header
	}
	b.wire.Pass(mcp.WireMessage{HTTP: h, Data: data})
}

// Close passes the response, if no message of it was passed.
func (b *wiredBody) Close() error {
	if !b.passed.Load() {
		b.pass(nil, false)
	}
	return b.ReadCloser.Close()
}

// roundTripHTTP sends a request, and passes it and its response to OnMessage.
func (p *ClientParams) roundTripHTTP(req *http.Request, body []byte) (*http.Response, error) {
	wire := exchange.NewWire(p.OnMessage, p.Logger)
	wire.PassRequest(req, true, body)
	resp, err := p.HTTP.Do(req)
	if err == nil && wire != nil {
		resp.Body = &wiredBody{ReadCloser: resp.Body, wire: wire, resp: resp}
	}
	return resp, err
}
