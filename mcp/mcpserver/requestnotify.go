package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Notify sends a notification that belongs to the request to its client. It does nothing
// and returns nil when ctx or the request has ended, when the client's revision does not
// have the notification, when the request is subscriptions/listen or a notification of a
// stateless transport, when r is nil, and in the stateless era after [Detach].
//
// Spec: 2026-07-28 basic/patterns/subscriptions
func (r *Request) Notify(ctx context.Context, method string, params any) error {
	if r == nil || r.in.BackChannel == nil && r.detached == nil || r.method == mcp.MethodListen {
		return nil
	}
	msg, err := r.call.Notification(method, params)
	if err != nil || msg == nil {
		return err
	}
	o := r.begunOutgoing()
	if ctx.Err() != nil || !o.beginSend() {
		return nil
	}
	defer o.sends.Done()
	switch {
	case r.detached == nil:
		return r.in.BackChannel.Send(ctx, msg)
	case r.detached.Attached && (r.in.BackChannel == nil || r.beforeStep() != nil):
	case r.detached.Attached:
		return r.in.BackChannel.Send(ctx, msg)
	case r.call.Session != nil && r.in.Session != nil:
		return r.in.Session.Push(ctx, msg)
	}
	return nil
}

// sendSubscribed sends a notification on the subscription that the request has opened. The
// params may be of a user type.
func (r *Request) sendSubscribed(ctx context.Context, method string, params any) error {
	a, err := r.call.Facts.Announcement(method, params)
	if err != nil {
		return err
	}
	return r.sendAnnouncement(ctx, a)
}

func (r *Request) sendAnnouncement(ctx context.Context, a dialect.Announcement) error {
	if r.in.BackChannel.Send(ctx, a.Subscribed(r.call)) != nil {
		return errNotDelivered
	}
	return nil
}
