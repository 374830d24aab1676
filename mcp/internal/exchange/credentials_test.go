package exchange_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

// sleepyClock is the wall clock of a machine whose timers stand still while it sleeps.
type sleepyClock struct {
	mu    sync.Mutex
	slept time.Duration
}

func (c *sleepyClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.slept)
}

func (c *sleepyClock) sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept += d
}

func TestCredentialsExpireWhileTheMachineSleeps(t *testing.T) {
	t.Parallel()
	for _, strip := range []bool{false, true} { // the end of a token has no monotonic reading
		synctest.Test(t, func(t *testing.T) {
			c, began := new(sleepyClock), time.Now()
			end := began.Add(time.Hour)
			if strip {
				end = end.Round(0)
			}
			ctx, stop := exchange.ValidUntil(t.Context(), end, c.now)
			defer stop()
			time.Sleep(time.Minute)
			if ctx.Err() != nil {
				t.Fatal("got the context ended, want the credentials valid for an hour")
			}
			c.sleep(2 * time.Hour)
			woken := time.Now()
			<-ctx.Done()
			if took := time.Since(woken); took > 10*time.Second || !errors.Is(context.Cause(ctx), exchange.ErrExpired) {
				t.Errorf("got %v after %v, want ErrExpired within 10 s after the sleep", context.Cause(ctx), took)
			}
		})
	}
}

func TestCredentialsAreValidUntilTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, lifetime := range []time.Duration{-time.Hour, time.Second, time.Minute + 3*time.Millisecond} {
			began := time.Now()
			ctx, stop := exchange.WhileValid(t.Context(), &mcp.Identity{Expires: began.Add(lifetime)})
			<-ctx.Done()
			if took := time.Since(began); took != max(lifetime, 0) || !errors.Is(context.Cause(ctx), exchange.ErrExpired) {
				t.Errorf("lifetime %v: got %v after %v", lifetime, context.Cause(ctx), took)
			}
			stop()
		}
		ctx, stop := exchange.WhileValid(t.Context(), &mcp.Identity{Expires: time.Now().Add(time.Second)})
		stop()
		time.Sleep(time.Minute)
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped: got %v, want %v", err, context.Canceled)
		}
	})
}
