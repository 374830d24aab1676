package streamhttp

import (
	"net/http"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// wired is the http.ResponseWriter of a request whose messages are passed to Options.OnMessage.
// It is found by wireOf, so that no request needs more memory where there is no such function.
type wired struct {
	http.ResponseWriter
	wire           *exchange.Wire
	r              *http.Request
	requestPassed  bool        // to OnMessage
	responsePassed atomic.Bool // a message of it, at least
	status         int         // of a response that has begun
}

// wire returns w, as a *wired if there is a function OnMessage.
func (o *Options) wire(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	wire := exchange.NewWire(o.orZero().OnMessage, o.logger())
	if wire == nil {
		return w
	}
	wire.Of(mcp.IdentityFrom(r.Context()), AddressOf(r, o.orZero().TrustedProxies))
	passed := &wired{ResponseWriter: w, wire: wire, r: r}
	if r.Method != http.MethodPost {
		passed.request(nil)
	}
	return passed
}

// wireOf returns w if it is a *wired, else nil. The methods below may be called for nil.
func wireOf(w http.ResponseWriter) *wired {
	passed, _ := w.(*wired)
	return passed
}

// Unwrap is for http.ResponseController.
func (w *wired) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *wired) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// request passes the request, with its body.
func (w *wired) request(body []byte) {
	if w != nil && !w.requestPassed {
		w.requestPassed = true
		w.wire.PassRequest(w.r, false, body)
	}
}

// reply passes a reply that was written as the whole response or as an event. Nothing else is written
// any more.
func (w *wired) reply(reply *dialect.Reply, event bool) {
	if w != nil && reply.Body != nil {
		w.responsePassed.Store(true)
		w.response(&mcp.WireHTTP{Status: w.status, Event: event, Header: w.Header()}, reply.Whole())
	}
}

// events passes the messages of events that are about to be written, on any goroutine and so without
// headers.
func (w *wired) events(events []sse.Event) {
	if w == nil {
		return
	}
	for _, ev := range events {
		if len(ev.Data) > 0 {
			w.responsePassed.Store(true)
			w.response(&mcp.WireHTTP{Status: http.StatusOK, Event: true}, ev.Data)
		}
	}
}

// end passes a response without a message: a refusal, or the status alone.
func (w *wired) end(refused *refusal) {
	if w == nil || w.responsePassed.Load() {
		return
	}
	w.request(nil)
	var data []byte
	if refused != nil {
		data = dialect.Refuse(jsonrpc.ID{}, refused.err).Body
	}
	w.response(&mcp.WireHTTP{Status: w.status, Header: w.Header()}, data)
}

func (w *wired) response(h *mcp.WireHTTP, data []byte) {
	w.wire.Pass(mcp.WireMessage{Sent: true, HTTP: h, Data: data})
}
