package link

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A root that leads elsewhere at each look, and back before the approval is compared, does not make the host start the server
// at once each time.
func TestConnectionThatIsCheckedAgainAndAgainPausesBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := mcpserver.New("a", "1", nil)
		began := time.Now()
		var connects []time.Duration
		var c *Conn
		c = New(t.Context(), Params{
			Kind: Shared, Log: slog.New(slog.DiscardHandler), ConnectWait: time.Minute,
			Connect: func(ctx context.Context, _ *Conn) (*mcpclient.Client, error) {
				if connects = append(connects, time.Since(began)); len(connects) == 100 { // without a pause time stands still
					c.Close()
				}
				return mcpclient.Connect(ctx, mcpclient.InProcess(srv), nil)
			},
			OnStateChange: func() {
				if state, _ := c.State(); state == host.Ready {
					c.readmit()
				}
			},
		})
		go c.Run()
		time.Sleep(6 * time.Minute)
		c.Close()
		<-c.ended.Done()
		want := []time.Duration{0, 0, time.Second, 3 * time.Second, 7 * time.Second}
		for next := want[len(want)-1] + suspendedPause; next < 6*time.Minute; next += suspendedPause {
			want = append(want, next)
		}
		if !slices.Equal(connects, want) {
			t.Errorf("got connections at %v, want them at %v", connects, want)
		}
	})
}
