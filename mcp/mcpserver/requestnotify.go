package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Notify sends a notification that belongs to the request, as a rule within the
// request's own context. It does nothing once that or the request has ended, where
// the client's revision has no such message, and in the stateless era for work that
// goes on after its request was answered. What a subscription carries are changes and nothing else.
//
// Spec: 2026-07-28 basic/patterns/subscriptions
func (r *Request) Notify(ctx context.Context, method string, params any) error {
	if r == nil || r.in.Back == nil && r.detached == nil || r.method == mcp.MethodListen {
		return nil
	}
	msg, err := r.call.Notification(method, params)
	if err != nil || msg == nil {
		return err
	}
	if ctx.Err() != nil || !r.beginSend() {
		return nil
	}
	defer r.sends.Done()
	switch {
	case r.detached == nil:
		return r.in.Back.Send(ctx, msg)
	case r.call.Session != nil && r.in.Session != nil:
		return r.in.Session.Push(ctx, msg)
	}
	return nil
}

// beginSend reports whether the request has not ended, and then keeps end waiting until
// sends.Done.
func (r *Request) beginSend() bool {
	r.sending.Lock()
	defer r.sending.Unlock()
	if r.over {
		return false
	}
	r.sends.Add(1)
	return true
}

// end sends what was held back of progress and log, waits for the messages that are
// being sent, and has Notify do nothing from then on. It reports whether it was the
// first call.
func (r *Request) end() bool {
	r.progress.flush()
	r.endLog()
	r.sending.Lock()
	was := r.over
	r.over = true
	r.sending.Unlock()
	r.sends.Wait()
	return !was
}

// sendSubscribed sends a notification of the subscription that goes to it alone. The
// params may be of a type that encodes itself.
func (r *Request) sendSubscribed(ctx context.Context, method string, params any) error {
	a, err := r.call.Facts.Announcement(method, params)
	if err != nil {
		return err
	}
	return r.sendAnnouncement(ctx, a)
}

func (r *Request) sendAnnouncement(ctx context.Context, a dialect.Announcement) error {
	if r.in.Back.Send(ctx, a.Subscribed(r.call)) != nil {
		return errUnheard
	}
	return nil
}
