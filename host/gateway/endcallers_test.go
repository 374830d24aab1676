package gateway_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A call that waits for the next round of its caller is no running request of the host's server. It
// ends with the connection of its caller. Calls at a shared upstream never wait in this way.
func TestEndedCallersHaveNoCallsAtTheUpstream(t *testing.T) {
	t.Parallel()
	for _, share := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var running sync.Map // of subjects
			runs := func(subject string) bool { _, ok := running.Load(subject); return ok }
			srv := mcpserver.New("up", "1", &mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
			srv.Tool("hold", "", func(ctx context.Context, in greeting) (string, error) {
				running.Store(in.Name, true)
				defer running.Delete(in.Name)
				_, err := mcpserver.Ask[struct {
					OK bool `json:"ok"`
				}](ctx, "ok", "Go on?")
				if share { // which offers nobody to ask
					<-ctx.Done()
				}
				return "", err
			})
			u := upstream("a", srv)
			u.Settings.Share = share
			g := start(t, u)
			ctx, cancel := context.WithCancel(t.Context())
			for _, subject := range []string{"eve", "bob"} {
				c, err := mcpclient.Connect(ctx, mcpclient.InProcess(serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}}), &mcpclient.Options{
					Revisions: []mcp.Revision{mcp.V20260728}, Logger: quiet,
					ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, mcpclient.ErrClosed },
				})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				go func() { _, _ = c.CallTool(ctx, "a__hold", greeting{subject}, mcpclient.ManualInput()) }()
			}
			time.Sleep(time.Second)
			if !runs("eve") || !runs("bob") {
				t.Fatalf("share %t: the calls do not run", share)
			}
			g.EndCallers(func(p mcp.Principal, _ *mcp.Implementation) bool { return p.Subject == "eve" })
			time.Sleep(5 * time.Second)
			if runs("eve") || !runs("bob") {
				t.Errorf("share %t: got calls of eve: %t, of bob: %t, want those of bob only", share, runs("eve"), runs("bob"))
			}
			cancel()
			synctest.Wait()
		})
	}
}
