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

// Park keeps a live value in this process between the runs of a handler, such as a call to
// another server or an open transaction, which cannot be encoded:
//
//	call, err := mcpserver.Park(ctx, "upstream", dial, (*Upstream).Close)
//
// The first run calls open. In the stateless era the value stays open between the rounds
// of the call, and later runs get the same value. It is closed exactly once: when the call
// ends with a result or an error, when the client does not retry within AskOptions.Expiry,
// or at Shutdown. The context of open ends then. The rules of [Ask] apply to the key.
//
// A value is opened only once for a call. When it was lost, Park fails with [ErrParkLost].
// The values of a call are kept together. If AskOptions.MaxParked does not permit all of
// them, the call fails at its question and all are closed. If they are closed later for
// values of another owner, Park fails with ErrParkLost in the next round. All rounds of the
// call have to be sent to the replica that has the values.
//
// Park is safe for concurrent use. If open returns after the handler has returned, the
// value is closed at once, and Park fails with ErrInputRequired or ErrCallEnded. open runs
// on the goroutine that calls Park. close runs on the goroutine that ends the call or on
// one of the server; a panic of close is logged. close may be nil.
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
		return zero, fmt.Errorf("park %q: %w", key, err)
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
			return zero, fmt.Errorf("park %q: the value is a %T; want the same type in every run", key, held.V)
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
		r.server.runLogged(context.Background(), "closing a parked value", func() error {
			if close != nil {
				close(v)
			}
			return nil
		})
	}))
	if err != nil {
		return zero, err
	}
	return v, nil
}

// parkValues keeps the values of a run until the next run: all of them or none.
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

// takeParkedPlace reserves the room for the values of one call, within the limits of the
// owner and of the server.
func (r *Request) takeParkedPlace(n int, evict func()) (release func(), err error) {
	each, all := r.server.options.asking().ownerParked(), r.server.options.asking().maxParked()
	err = limit.ErrOwnerFull
	if n <= min(each, all) {
		var place *limit.Place
		if place, err = r.server.parkedPlaces.Take(r.in.Owner(), n, evict); err == nil {
			return func() { place.Release() }, nil
		}
	}
	bound := all
	if errors.Is(err, limit.ErrOwnerFull) {
		bound = min(each, all)
	}
	return nil, fmt.Errorf("keep %d values: %w, the limit is %d", n, err, bound)
}
