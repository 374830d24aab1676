package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// crashing is a target whose server counts as a process.
type crashing struct{ dialTarget }

func (crashing) spawns() bool { return true }

func TestCrashingCommandIsRestartedWithBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		quiet := slog.New(slog.DiscardHandler)
		c, err := Connect(t.Context(), crashing{dialTarget{func(context.Context) (mcp.Conn, error) {
			starts++
			ours, theirs := memory.Pair()
			srv := mcpserver.New("crashing", "1", &mcpserver.Options{Logger: quiet})
			srv.Tool("die", "", func(context.Context, struct{}) (string, error) {
				return "", theirs.Close()
			})
			go srv.Serve(context.Background(), theirs)
			return ours, nil
		}}}, &Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		parked := 0
		for begun := time.Now(); time.Since(begun) < 5*time.Minute; time.Sleep(100 * time.Millisecond) {
			before := time.Now()
			_, err := c.CallTool(t.Context(), "die", nil)
			if _, lost := errors.AsType[*LostError](err); !lost {
				t.Fatalf("got %v, want a LostError", err)
			}
			if strings.Contains(err.Error(), "lost 5 times within 1m0s, the next start is possible in") {
				parked++
				if waited := time.Since(before); waited > 0 {
					t.Fatalf("a call to a parked server took %v", waited)
				}
			}
		}
		if starts > 8 || starts < 6 || parked == 0 {
			t.Errorf("started %d times in five minutes, %d calls refused, want 6 to 8 starts", starts, parked)
		}
	})
}

func TestShutdownLetsCallsFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := mcpserver.New("slow", "1", nil)
		srv.Tool("sleep", "", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-time.After(time.Minute / 2):
				return "rested", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
		for _, patience := range []time.Duration{time.Minute, time.Second} {
			c, err := Connect(t.Context(), InProcess(srv), nil)
			if err != nil {
				t.Fatal(err)
			}
			called := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), "sleep", nil)
				called <- err
			}()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			ended := make(chan error, 1)
			go func() { ended <- c.Shutdown(ctx) }()
			synctest.Wait()
			if _, err := c.CallTool(t.Context(), "sleep", nil); !errors.Is(err, ErrClosed) {
				t.Errorf("new: got %v, want ErrClosed", err)
			}
			err, late := <-ended, patience < time.Minute/2
			if errors.Is(err, context.DeadlineExceeded) != late || !late && err != nil {
				t.Errorf("after %v: got %v", patience, err)
			}
			if err := <-called; errors.Is(err, ErrClosed) != late || !late && err != nil {
				t.Errorf("the call, after %v: got %v", patience, err)
			}
			cancel()
		}
	})
}
