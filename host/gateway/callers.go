package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxCallers bounds the lines that callers of one upstream have for
	// themselves.
	maxCallers = 256
	// callerIdle is how long the line of a caller without a session is kept
	// unused.
	callerIdle = 30 * time.Minute
	// maxSpare bounds the lines of one principal for calls that may ask at the same
	// time, and spareIdle is how long all but the first are kept unused.
	maxSpare  = 16
	spareIdle = time.Minute
)

// caller is whoever has a line for itself: a session or, in the stateless era,
// whose requests stand alone, a principal.
type caller struct {
	principal mcp.Principal
	session   context.Context // its lifetime, or nil
	can       abilities       // which each request of the stateless era declares anew
	// spare counts the lines that are there because others are taken. In a session
	// there is none.
	spare int
}

func callerOf(r *mcpserver.Request) caller {
	return caller{principal: r.Principal(), session: r.Session(), can: abilitiesOf(r)}
}

// mayAsk reports whether the upstream can ask a caller anything. On a connection
// that several share it cannot.
func (u *upstream) mayAsk(c caller) bool { return !u.Settings.Share && c.can != abilities{} }

// lease lends the line that serves a caller. The call, which may be nil, is the
// one in which the upstream may ask.
func (u *upstream) lease(ctx context.Context, c caller, k *call) (use lease, err error) {
	if !u.mayAsk(c) {
		k = nil
	}
	for range 3 {
		l, err := u.joinedLine(ctx, c, k)
		if err != nil {
			return use, err
		}
		use, err = l.use(ctx)
		use.call, use.freed, use.house = k, u.freed, u.house
		if err == nil {
			return use, nil
		}
		if use.drop(); !errors.Is(err, errOver) {
			return use, err
		}
	}
	return use, errOver
}

// joinedLine returns the line that serves a caller, on which the call is the
// only one if the caller has no session: a server of the session era does not say
// in which call it asks, and the requests of one principal need not come from one
// client. If all lines that there may be are taken it waits a little.
func (u *upstream) joinedLine(ctx context.Context, c caller, k *call) (*line, error) {
	l, freed, err := u.lineFor(c, k)
	if l != nil || err != nil {
		return l, err
	}
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for l == nil && err == nil {
		select {
		case <-freed:
			l, freed, err = u.lineFor(c, k)
		case <-enough.C:
			return nil, fmt.Errorf("%d calls in which it may ask are under way, which is the limit", maxSpare)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return l, err
}

// lineFor returns the line that serves a caller, after the call has joined it, or
// what to wait for when there is none that is free.
func (u *upstream) lineFor(c caller, k *call) (*line, <-chan struct{}, error) {
	if u.Settings.Share {
		return u.house, nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return nil, nil, errors.New("it is no longer configured")
	case c.session != nil && c.session.Err() != nil:
		return nil, nil, errors.New("the session has ended")
	}
	alone := k != nil && c.session == nil && u.speaks != mcp.V20260728
	for ; c.spare < maxSpare; c.spare++ {
		l := u.callers[c]
		if l == nil || l.isOver() {
			if len(u.callers) >= maxCallers {
				return nil, nil, fmt.Errorf("%d callers have a connection of their own, which is the limit", maxCallers)
			}
			l = u.addCaller(c)
		}
		if l.join(k, alone) {
			return l, nil, nil
		}
	}
	return nil, u.vacancy, nil
}

// freed tells those who wait for a line that there may be one.
func (u *upstream) freed() {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.vacancy)
	u.vacancy = make(chan struct{})
}

// addCaller begins a line that lasts as long as its session, or as it is used.
// The caller of it holds mu.
func (u *upstream) addCaller(c caller) *line {
	idle := u.Settings.Idle
	if idle == 0 && c.session == nil {
		idle = callerIdle
	}
	if c.spare > 0 {
		idle = spareIdle
	}
	l := newLine(lineParams{
		connect: func(ctx context.Context, l *line) (*mcpclient.Client, error) {
			o := u.clientOptions(l)
			u.declare(o, c.can, l)
			return u.connect(ctx, o)
		},
		idle: idle,
		log:  u.log,
	})
	u.callers[c] = l
	ctx, cancel := context.WithCancel(u.ctx)
	l.stop = cancel
	stop := func() bool { return true }
	if c.session != nil {
		stop = context.AfterFunc(c.session, cancel)
	}
	u.work.Go(func() {
		defer u.removeCaller(c, l)
		defer cancel()
		defer stop()
		l.run(ctx)
	})
	return l
}

func (u *upstream) removeCaller(c caller, l *line) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.callers[c] == l {
		delete(u.callers, c)
	}
}
