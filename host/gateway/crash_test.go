package gateway_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// crashingTarget is a server that exits at its first message.
type crashingTarget struct{ starts atomic.Int32 }

func (s *crashingTarget) Serve(ctx context.Context, conn mcp.Conn) error {
	s.starts.Add(1)
	_, err := conn.Read(ctx)
	return err
}

func TestUpstreamThatCannotRunIsRestartedWithBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := new(crashingTarget)
		open(t, nil, host.Upstream{Key: "dead", Target: mcpclient.InProcess(dead)})
		time.Sleep(5 * time.Minute)
		if n := dead.starts.Load(); n > 8 || n < 6 {
			t.Errorf("started %d times in five minutes, want 6 to 8", n)
		}
	})
}
