package streamhttp

import (
	"net/http"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// stateless answers a message of the stateless era. The handler runs on the
// connection's goroutine and writes to the connection; the end of the
// connection cancels it.
//
// Spec: 2026-07-28 basic/transports#streamable-http
func (h *Handler) stateless(w http.ResponseWriter, r *http.Request, in *exchange.Inbound) *refusal {
	switch in.Message.Kind {
	case jsonrpc.Notification:
		return h.notify(r.Context(), w, in)
	case jsonrpc.Response:
		return refuse(http.StatusBadRequest, "a response: want a request or a notification, since this server has asked nothing")
	}
	scope, subscribes := h.drain.work, in.Message.Method == mcp.MethodListen
	if subscribes {
		if refused := h.streams.take(in.Principal); refused != nil {
			return refused
		}
		defer h.streams.release(in.Principal)
		scope = h.drain.streams
	}
	ctx, cancel := bind(r.Context(), scope)
	defer cancel(nil)
	a := newResponder(w, h.o, cancel)
	defer a.abandon()
	if subscribes || h.o.answer() != AnswerJSON {
		in.Back = a
		a.openLater()
	}
	reply := h.core.Request(ctx, in)
	if r.Context().Err() == nil {
		a.finish(reply)
	}
	return nil
}
