package relay

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// busyProgram answers nothing while it runs a call, which takes three minutes, as a program does that has
// one thread.
type busyProgram struct{}

func (busyProgram) Serve(ctx context.Context, conn mcp.Conn) error {
	for {
		message, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		_, id, isRequest := strings.Cut(string(message), `"id":`)
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"busy","version":"1"}}`
		if strings.Contains(string(message), `"tools/call"`) {
			select {
			case <-time.After(3 * time.Minute):
			case <-ctx.Done():
				return nil
			}
			result = `{"content":[{"type":"text","text":"done"}]}`
		}
		if isRequest {
			_ = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+id[:strings.IndexAny(id, ",}")]+`,"result":`+result+`}`))
		}
	}
}

func TestProgramWithATimeoutMayBeTooBusyForPings(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]string{0: "no answer to a ping", 4 * time.Minute: "done"} {
		synctest.Test(t, func(t *testing.T) {
			quiet := slog.New(slog.DiscardHandler)
			u := &host.Upstream{Key: "d", Target: mcpclient.Command("busy")}
			if timeout > 0 {
				u.Settings.Timeouts = []host.CallTimeout{{Tools: "*", Timeout: timeout}}
			}
			pool := link.NewPool(t.Context(), link.PoolParams{ShareCalls: true, Log: quiet, Shared: link.Params{
				ConnectWait: time.Second, OnStateChange: func() {}, Log: quiet,
				Connect: func(ctx context.Context, _ *link.Conn) (*mcpclient.Client, error) {
					return mcpclient.Connect(ctx, mcpclient.InProcess(busyProgram{}), &mcpclient.Options{
						Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet, PingInterval: -1, Timeouts: mcpclient.TimeoutOptions{Call: -1, MaxCall: -1},
					})
				},
			}})
			pool.Start()
			defer pool.Close()
			rl := New(Params{Upstream: u, Pool: pool, OtherKeys: func() []string { return nil }, Log: quiet})
			var status host.Status
			srv := mcpserver.New("host", "1", &mcpserver.Options{Logger: quiet})
			srv.Tool("go", "Go", func(ctx context.Context, _ struct{}) (string, error) {
				time.AfterFunc(2*time.Minute+30*time.Second, func() {
					status.State = host.Ready
					rl.FillStatus(&status)
				})
				result, err := rl.Forward(ctx, nil, func(ctx context.Context, c *mcpclient.Client, opts ...mcpclient.CallOption) (mcp.Result, error) {
					return c.CallTool(ctx, "go", nil, opts...)
				})
				if err != nil {
					return "", err
				}
				return result.(*mcp.CallToolResult).Content.Text(), nil
			})
			c := mcptest.Connect(t, srv, &mcpclient.Options{Logger: quiet, Timeouts: mcpclient.TimeoutOptions{Call: -1}})
			result, err := c.CallTool(t.Context(), "go", nil)
			if err != nil || !strings.Contains(result.Content.Text(), want) {
				t.Errorf("timeout %v: got %+v, %v, want %q", timeout, result, err, want)
			}
			if timeout > 0 && (status.State != host.Degraded || !strings.HasSuffix(status.Reason, "the server does not answer pings")) {
				t.Errorf("timeout %v: got %+v, want it degraded", timeout, status)
			}
		})
	}
}
