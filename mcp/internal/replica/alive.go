package replica

import (
	"context"
	"time"
)

const (
	// beatInterval is how often a process says that it is alive, and aliveFor how long that
	// holds. The difference is the time for which a process may be without its Store.
	beatInterval = time.Second
	aliveFor     = 4 * time.Second
	// A process that could not reach the Store for beatLate does not know which others are dead,
	// because they could not either. It knows that settleTime after it could again.
	beatLate   = 2*beatInterval + beatInterval/2
	settleTime = beatInterval + callTimeout
)

// aliveKey is the key of the Store that exists while a process is alive.
func (g *Group) aliveKey(id string) string { return g.topic + ".alive." + id }

// beatUntilLeft says that the process is alive, until it leaves. The first time it closes joined.
func (g *Group) beatUntilLeft() {
	beat := time.NewTicker(beatInterval)
	defer beat.Stop()
	last := time.Now() // when the process has said so last
	for joined, failing := false, false; ; {
		err := g.put()
		if err != nil && !failing {
			g.warn("cannot say that this process is alive", err)
		}
		failing = err != nil
		if !failing {
			if time.Since(last) > aliveFor {
				select {
				case g.returned <- struct{}{}:
				default:
				}
			}
			last = time.Now()
			g.beaten(last)
		}
		if !failing && !joined {
			joined = true
			close(g.joined)
		}
		select {
		case <-beat.C:
		case <-g.ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(g.ctx), beatInterval)
			defer cancel()
			_ = g.o.Store.Delete(ctx, g.aliveKey(g.id)) // it expires soon
			return
		}
	}
}

// beaten records that this process has reached the Store.
func (g *Group) beaten(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.beat.IsZero() && now.Sub(g.beat) > beatLate {
		g.settled = now.Add(settleTime)
	}
	g.beat = now
}

// knowsTheDead reports whether a process whose key is missing is dead.
func (g *Group) knowsTheDead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	return g.beat.IsZero() || now.Sub(g.beat) <= beatLate && now.After(g.settled)
}

func (g *Group) put() error {
	ctx, cancel := context.WithTimeout(g.ctx, callTimeout)
	defer cancel()
	return g.o.Store.Put(ctx, g.aliveKey(g.id), []byte("1"), aliveFor)
}

// IsAlive reports whether a process has said within the last four seconds that it is alive. For a
// few seconds after the Store could not be reached, every process may be alive.
func (g *Group) IsAlive(ctx context.Context, id string) (bool, error) {
	if id == g.id {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, alive, err := g.o.Store.Get(ctx, g.aliveKey(id))
	return alive || err == nil && !g.knowsTheDead(), err
}
