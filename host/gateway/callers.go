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
)

// caller is whoever has a line for itself: a session or, in the stateless era,
// whose requests stand alone, a principal.
type caller struct {
	principal mcp.Principal
	session   context.Context // its lifetime, or nil
}

func callerOf(r *mcpserver.Request) caller { return caller{r.Principal(), r.Session()} }

// lease lends the line that serves a caller.
func (u *upstream) lease(ctx context.Context, c caller) (use lease, err error) {
	for range 3 {
		l, err := u.lineFor(c)
		if err != nil {
			return use, err
		}
		if use, err = l.use(ctx); !errors.Is(err, errOver) {
			return use, err
		}
	}
	return use, errOver
}

// lineFor returns the line that serves a caller.
func (u *upstream) lineFor(c caller) (*line, error) {
	if u.Settings.Share {
		return u.house, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch l := u.callers[c]; {
	case u.closed:
		return nil, errors.New("it is no longer configured")
	case c.session != nil && c.session.Err() != nil:
		return nil, errors.New("the session has ended")
	case l != nil && !l.isOver():
		return l, nil
	case len(u.callers) >= maxCallers:
		return nil, fmt.Errorf("%d callers have a connection of their own, which is the limit", maxCallers)
	}
	return u.addCaller(c), nil
}

// addCaller begins a line that lasts as long as its session, or as it is used.
// The caller of it holds mu.
func (u *upstream) addCaller(c caller) *line {
	idle := u.Settings.Idle
	if idle == 0 && c.session == nil {
		idle = callerIdle
	}
	l := newLine(lineParams{
		connect: func(ctx context.Context, l *line) (*mcpclient.Client, error) {
			return u.connect(ctx, u.clientOptions(l))
		},
		idle: idle,
		log:  u.log,
	})
	u.callers[c] = l
	ctx, cancel := context.WithCancel(u.ctx)
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
