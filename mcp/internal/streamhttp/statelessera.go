package streamhttp

import (
	"context"
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
)

// stateless answers a message of the stateless era. The handler runs on the
// connection's goroutine and writes to the connection; a disconnect cancels it.
//
// Spec: 2026-07-28 basic/transports#streamable-http
func (h *Handler) stateless(w http.ResponseWriter, r *http.Request, in *exchange.Inbound) *refusal {
	switch in.Message.Kind {
	case jsonrpc.Notification:
		ctx := lazyctx.New(r.Context(), h.life.work)
		defer ctx.Cancel(nil)
		return h.notify(ctx, w, in)
	case jsonrpc.Response:
		return refuse(http.StatusBadRequest, "a response: want a request or a notification, because this server has sent no request")
	}
	if in.Message.Method == mcp.MethodListen {
		return h.subscribe(w, r, in)
	}
	h.respond(w, r, in, h.life.work)
	return nil
}

// subscribe answers subscriptions/listen, which counts as a stream.
func (h *Handler) subscribe(w http.ResponseWriter, r *http.Request, in *exchange.Inbound) *refusal {
	ctx, cancel := context.WithCancelCause(h.life.streams)
	defer cancel(nil)
	release, refused := h.streams.takeStream(r, in.Owner(), cancel)
	if refused != nil {
		return refused
	}
	defer release()
	if refused := checkAccept(r.Header, httpheader.TypeEventStream); refused != nil {
		return refused
	}
	in.Draining = h.life.streamsOf(r).Done()
	h.respond(w, r, in, ctx)
	return nil
}

// respond runs a request, which the end of scope cancels, and answers it.
func (h *Handler) respond(w http.ResponseWriter, r *http.Request, in *exchange.Inbound, scope context.Context) {
	ctx := lazyctx.New(r.Context(), scope)
	defer ctx.Cancel(nil)
	o := h.optionsFor(r)
	a := newResponder(w, o, ctx)
	a.unsent, a.owner = h.o.unsent(), in.Owner()
	defer a.abandon()
	if in.Message.Method == mcp.MethodListen || o.answer() != AnswerJSON {
		in.BackChannel = a
		h.timeouts.add(a)
	}
	in.InParts = true
	reply := h.core.Request(ctx, in)
	if r.Context().Err() == nil {
		a.finish(&reply)
	}
}
