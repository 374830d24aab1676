package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// Park keeps one live value of this process, such as a call to another server or
// an open transaction, for a handler that asks and cannot be repeated:
//
//	call, err := mcpserver.Park(ctx, "upstream", dial, (*Upstream).Close)
//
// The first run opens the value. In the stateless era it stays open between the
// rounds of the call, and later runs get the same one. It is closed exactly once: when
// the call ends with a result or an error, when the client does not come back within
// AskOptions.Expiry, or at Shutdown. Its context ends then. The key follows the rules
// of Ask.
//
// A value is never opened a second time for one call. When it is gone, Park
// fails with ErrParkLost. The values of a call are kept together: when there is no room
// for all of them, see AskOptions.MaxParked, the call fails at its question and all are
// closed; when they have to make room for those of another owner, all are closed, and
// Park fails with ErrParkLost in the next round. Every round has to reach the replica that holds the values.
//
// Park is safe for concurrent use. A value whose open returns after the handler has
// is closed at once, and Park fails with ErrInputRequired or ErrCallEnded. open runs on
// the goroutine that calls Park; close runs on the goroutine that ends the call, or on
// one of the server, where a panic is logged.
//
// In the session era the value lives as long as the call. Outside of a call Park
// fails with ErrNotInCall.
func Park[T any](ctx context.Context, key string, open func(context.Context) (T, error), close func(T)) (T, error) {
	var zero T
	r := From(ctx)
	if r == nil {
		return zero, ErrNotInCall
	}
	if err := r.resume(); err != nil {
		return zero, err
	}
	if err := r.run.Use(key); err != nil {
		return zero, fmt.Errorf("park: %w", err)
	}
	if err := r.run.Blocked(); err != nil {
		return zero, err
	}
	held, lost := r.run.Value(key)
	if lost {
		return zero, fmt.Errorf("park %q: %w", key, ErrParkLost)
	}
	if held != nil {
		v, ok := held.V.(T)
		if !ok {
			return zero, fmt.Errorf("park %q: holds a %T; want the same type in every run", key, held.V)
		}
		return v, nil
	}
	own, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), requestKey{}, (*Request)(nil)))
	opened := false
	defer func() {
		if !opened { // also by a panic of open
			cancel()
		}
	}()
	v, err := open(own)
	if err != nil {
		return zero, err
	}
	opened = true
	err = r.run.Hold(key, replay.NewValue(v, func() {
		cancel()
		r.server.runLogged(context.Background(), "closing a parked value", func() error { close(v); return nil })
	}))
	if err != nil {
		return zero, err
	}
	return v, nil
}

// parkValues keeps what a run holds until the next one: all of it, or nothing.
func (r *Request) parkValues(out *replay.Outcome) error {
	tickets, err := r.server.parked.Put(r.Principal(), out.Values, r.server.options.asking().expiry(), r.takeParkedPlace)
	if err != nil {
		if !errors.Is(err, replay.ErrShutdown) {
			r.ReportLimit(mcp.LimitParked)
		}
		return fmt.Errorf("park: %w", err)
	}
	if out.Next.Parked == nil {
		out.Next.Parked = tickets
	} else { // what is lost stays so
		maps.Copy(out.Next.Parked, tickets)
	}
	return nil
}

// takeParkedPlace takes room for the values of one call, which count for the sender of
// the request.
func (r *Request) takeParkedPlace(n int, evict func()) (release func(), err error) {
	each, all := r.server.options.asking().ownerParked(), r.server.options.asking().maxParked()
	err = limit.ErrOwnerFull
	if n <= min(each, all) {
		var place *limit.Place
		if place, err = r.server.parkedPlaces.Take(r.in.Owner(), n, evict); err == nil {
			return func() { place.Release() }, nil
		}
	}
	most := all
	if errors.Is(err, limit.ErrOwnerFull) {
		most = min(each, all)
	}
	return nil, fmt.Errorf("%d values are to be kept: %w, the limit is %d", n, err, most)
}
