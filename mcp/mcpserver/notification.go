package mcpserver

import (
	"context"
	"errors"
	"log/slog"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Notification handles one notification. Cancellations and notifications/initialized take
// effect before it returns, and so before the client's next message is read. Middleware and
// the author's handler run after those of the session's earlier notifications:
//
//	transport → jsonrpc.Decode → dialect.Open
//	 ├─ notifications/cancelled                cancels the request at once
//	 ├─ notifications/initialized              the session gets change notifications from now on
//	 ├─ Session.QueueNotification              one after the other
//	 │   └─ handleNotification notification.go  middleware, the handler
//	 │       └─ logNotification notification.go errors and panics
//	 └─ handleAdmitted      notification.go    without a session: at once, if admit (admission.go) permits it
//	     └─ handleNotification
func (c core) Notification(ctx context.Context, in *exchange.Inbound) error {
	call, err := c.dialect.Open(in.Message, in.TransportInfo())
	if err != nil {
		return err
	}
	if id, cause, ok := dialect.Cancelled(in.Message); ok {
		if in.Session != nil {
			c.options.logger().LogAttrs(ctx, slog.LevelDebug, "the client cancels a request", slog.String("id", string(id.Raw())), slog.String("reason", cause.Reason))
			in.Session.Cancel(id, cause)
		}
		return nil
	}
	if call.Method == mcp.NotificationInitialized {
		c.initialized(in.Session)
		if in.Session != nil && !in.Session.Notifies() && in.Session.Shared != nil {
			in.Session.Shared.Initialized()
		}
	}
	way := c.middleware.lookup(call)
	if way.handler == nil {
		return nil
	}
	r := &Request{method: call.Method, ctx: ctx, route: way, call: call, in: in, server: c.Server}
	if in.Session == nil {
		return r.handleAdmitted()
	}
	handle := func() { r.handleNotification(r.notificationContext()) }
	if !in.Session.QueueNotification(handle, len(in.Message.Params)+notificationSize, c.kept) {
		c.reached(mcp.LimitNotifications, in, call.Method)
	}
	return nil
}

// notificationSize is about how many bytes a queued notification takes besides its
// params.
const notificationSize = 1 << 10

// handleAdmitted runs the handlers of a notification without a session, under the limits of
// requests: no queue limits how many of them run. The error refuses the notification.
func (r *Request) handleAdmitted() error {
	if err := r.server.admit(r); err != nil {
		return err
	}
	defer r.endSlot()
	defer r.handlers.Cancel(nil)
	ctx := r.beginHandlers()
	r.server.admission.start(r)
	defer r.server.admission.finish(r, nil, nil)
	r.handleNotification(ctx)
	return nil
}

// handleNotification runs the handlers of a notification.
func (r *Request) handleNotification(ctx context.Context) {
	err := usercode.Run(func() error {
		_, err := r.route.run(ctx, r, 0)
		return err
	})
	r.server.logNotification(ctx, r.call, err)
}

// logNotification logs an error of the handlers of a notification, because its sender gets
// no reply: a protocol error, which is in most cases about the message itself, as a warning,
// any other as an error.
func (s *Server) logNotification(ctx context.Context, call *dialect.Call, err error) {
	method := slog.String("method", call.Method)
	if p, ok := errors.AsType[*panicked](err); ok {
		s.options.logger().LogAttrs(ctx, slog.LevelError, "notification handler panicked", append(usercode.Attrs(p), method)...)
		return
	}
	switch _, protocol := errors.AsType[*mcp.Error](err); {
	case err == nil || ctx.Err() != nil: // errors because the session ends are expected
	case protocol:
		s.options.logger().LogAttrs(ctx, slog.LevelWarn, "notification refused", method, slog.Any("error", err))
	default:
		s.options.logger().LogAttrs(ctx, slog.LevelError, "notification failed", method, slog.Any("error", err))
	}
}
