package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A principal that opens many sessions leaves room for others and for itself, and loses only what it does
// not use.
func TestPrincipalWithManyConnectionsLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: hangingDiary}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		as := func(subject string) *listingClient {
			return newListingClient(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}},
				mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		}
		write := func(c *listingClient) string {
			result, err := c.CallTool(t.Context(), "d__write", map[string]string{"word": "x"})
			if err != nil {
				return err.Error()
			}
			return result.Content.Text()
		}
		var eve []*listingClient
		for range 256 {
			c := as("eve")
			eve = append(eve, c)
			if got := write(c); got != "x" {
				t.Fatalf("got %q", got)
			}
			time.Sleep(time.Second)
		}
		if got := write(as("eve")); got != "x" {
			t.Errorf("got %q, want the next session of the principal served", got)
		}
		if got := write(eve[0]); got != "x" {
			t.Errorf("got %q, want the connection closed that was unused longest, and a new one without its state", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = eve[0].CallTool(ctx, "d__hang", nil)
		}()
		synctest.Wait()
		bob := as("bob")
		for _, want := range []string{"x", "x x"} {
			if got := write(bob); got != want {
				t.Errorf("got %q, want %q for another principal", got, want)
			}
		}
		cancel()
		<-done
		if got := write(eve[0]); got != "x x" {
			t.Errorf("got %q, want the connection that was in use", got)
		}
		if got := write(eve[3]); got != "x x" {
			t.Errorf("got %q, want the connections that were used later", got)
		}
		if got := write(eve[2]); got != "x" {
			t.Errorf("got %q, want the connection closed that was unused longest, and a new one without its state", got)
		}
		if got := write(bob); got != "x x x" {
			t.Errorf("got %q, want the other principal's connection kept", got)
		}
	})
}

// Sessions that their clients have abandoned keep nobody out, whoever has opened them: the connection goes
// that has been unused for longest.
func TestAbandonedSessionsLockNobodyOut(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: hangingDiary}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		as := func(subject string) *listingClient {
			return newListingClient(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}},
				mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		}
		write := func(c *listingClient) string {
			result, err := c.CallTool(t.Context(), "d__write", map[string]string{"word": "x"})
			if err != nil {
				return err.Error()
			}
			return result.Content.Text()
		}
		var all []*listingClient
		for i := range 256 {
			c := as(fmt.Sprint("user", i))
			all = append(all, c)
			if got := write(c); got != "x" {
				t.Fatalf("got %q", got)
			}
			time.Sleep(time.Second)
		}
		if got := write(all[0]); got != "x x" {
			t.Errorf("got %q, want the first session to have its connection", got)
		}
		for _, subject := range []string{"newcomer", "another"} {
			if got := write(as(subject)); got != "x" {
				t.Errorf("got %q, want one more session served", got)
			}
		}
		for i, want := range map[int]string{0: "x x x", 3: "x x"} {
			if got := write(all[i]); got != want {
				t.Errorf("session %d: got %q, want %q: it was used later than others", i, got, want)
			}
		}
		if got := write(all[1]); got != "x" {
			t.Errorf("got %q, want the connection closed that was unused for longest", got)
		}
	})
}

// asAble connects a client of the stateless era as a principal, with some of the capabilities: one
// for each bit of able.
func asAble(t *testing.T, g *gateway.Gateway, subject string, able int) *mcpclient.Client {
	o := &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20260728}}
	elicit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, mcpclient.ErrClosed }
	if able&1 != 0 {
		o.ElicitForm = elicit
	}
	if able&2 != 0 {
		o.ElicitURL = elicit
	}
	if able&4 != 0 {
		o.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
	}
	if able&8 != 0 {
		o.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return nil, mcpclient.ErrClosed
		}
	}
	return mcptest.Connect(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}}, o)
}

// The calls of a principal that do not end use 16 connections, whatever capabilities its clients declare.
func TestDifferentlyAbleClientsOfOnePrincipalShareItsLimit(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: hangingDiary}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		ctx, cancel := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		for able := 1; able < 16; able++ {
			c := asAble(t, g, "eve", able)
			for range 3 {
				hanging.Go(func() { _, _ = c.CallTool(ctx, "d__hang", nil, mcpclient.ManualInput()) })
			}
		}
		time.Sleep(15 * time.Second)
		if n := g.Status()[0].Callers; n != 16 {
			t.Errorf("got %d connections, want 16", n)
		}
		cancel()
		hanging.Wait()
	})
}

// Some principals cannot take all connections with calls that do not end.
func TestPrincipalsWithManyCallsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		f := &sessionTarget{revision: mcp.V20251125, make: hangingDiary}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(f)})
		ctx, cancel := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		errs := make(chan string, 1000)
		for able := 1; able < 16; able++ { // a client without capabilities cannot be asked, and needs one connection
			c := asAble(t, g, fmt.Sprint("eve", able), able)
			for range 20 {
				hanging.Go(func() {
					result, err := c.CallTool(ctx, "d__hang", nil, mcpclient.ManualInput())
					if err == nil {
						errs <- result.Content.Text()
					} else {
						errs <- err.Error()
					}
				})
			}
		}
		time.Sleep(15 * time.Second)
		if n := g.Status()[0].Callers; n < 240 || n > 256 {
			t.Errorf("got %d connections, want nearly all of them used by few principals", n)
		}
		for able := range 16 {
			for _, subject := range []string{"ada", "bob"} {
				c := asAble(t, g, subject, able)
				result, err := c.CallTool(t.Context(), "d__write", map[string]string{"word": "x"}, mcpclient.ManualInput())
				if err != nil || result.IsError {
					t.Errorf("got %+v, %v, want another principal served", result, err)
				}
			}
		}
		cancel()
		hanging.Wait()
		ended := 0
		close(errs)
		for text := range errs {
			if strings.Contains(text, "ended for another client") {
				ended++
			}
		}
		if ended == 0 {
			t.Error("want the ended calls to say why")
		}
	})
}

// The features that a server has for single callers have 8 MiB together. Those of the principal
// with most go first.
func TestFeaturesOfSingleCallersAreLimitedTogether(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		swelling := func(ctx context.Context, conn mcp.Conn) error {
			called := false
			return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
				switch {
				case m.Method == mcp.MethodInitialize:
					return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`
				case m.Method == mcp.MethodToolsList && called:
					all := []string{rawTool("go", 1, "")}
					for i := range 14 {
						all = append(all, rawTool(fmt.Sprint("extra", i), 60_000, ""))
					}
					return `"result":{"tools":[` + strings.Join(all, ",") + `]}`
				case m.Method == mcp.MethodToolsList:
					return oneRawTool
				case m.Method == mcp.MethodToolsCall:
					called = true
					c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
					return `"result":{"content":[]}`
				case m.Method == mcp.MethodPing: // otherwise the connection counts as lost, with its features
					return `"result":{}`
				}
				return ""
			})
		}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(serverFunc(swelling))})
		as := func(subject string) *mcpclient.Client {
			c := mcptest.Connect(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}},
				&mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125}})
			if _, err := c.CallTool(t.Context(), "d__go", nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			return c
		}
		var eve []*mcpclient.Client
		for range 14 {
			eve = append(eve, as("eve"))
		}
		if n := len(toolNames(t, as("bob"))); n != 15 {
			t.Errorf("got %d tools, want those of the modest caller", n)
		}
		with := 0
		for _, c := range eve {
			if len(toolNames(t, c)) > 1 {
				with++
			}
		}
		if with < 5 || with > 9 {
			t.Errorf("%d sessions of one principal have features of their own, want 8 MiB of them", with)
		}
	})
}

// Each read of a list takes memory, and a server can have each caller's lists read at the same time.
func TestListsOfSingleCallersAreReadInTurn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		release := make(chan struct{})
		slow := func(ctx context.Context, conn mcp.Conn) error {
			called := false
			return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
				switch {
				case m.Method == mcp.MethodInitialize:
					return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`
				case m.Method == mcp.MethodToolsList && called:
					running.Add(1)
					<-release
					running.Add(-1)
					return `"result":{"tools":[` + rawTool("go", 1, "") + `,` + rawTool("extra", 1, "") + `]}`
				case m.Method == mcp.MethodToolsList:
					return oneRawTool
				case m.Method == mcp.MethodToolsCall:
					called = true
					c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
					return `"result":{"content":[]}`
				case m.Method == mcp.MethodPing:
					return `"result":{}`
				}
				return ""
			})
		}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(serverFunc(slow))})
		var clients []*mcpclient.Client
		for i, test := range []struct {
			subject string
			want    int32 // reads that run
		}{{"eve", 1}, {"eve", 1}, {"bob", 2}, {"carol", 2}} {
			c := mcptest.Connect(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: test.subject}},
				&mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125}})
			if _, err := c.CallTool(t.Context(), "d__go", nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if got := running.Load(); got != test.want {
				t.Errorf("with client %d, of %s: got %d reads at once, want %d", i, test.subject, got, test.want)
			}
			clients = append(clients, c)
		}
		close(release)
		time.Sleep(10 * time.Second)
		for i, c := range clients {
			if n := len(toolNames(t, c)); n != 2 {
				t.Errorf("client %d: got %d tools, want those of its own connection, too", i, n)
			}
		}
	})
}

// While a session waits for its turn, the host sees whether its connection is lost, and the wait does
// not count as a slow read.
func TestConnectionThatWaitsForItsTurnToListIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		slow := func(ctx context.Context, conn mcp.Conn) error {
			called := false
			ctx, end := context.WithCancel(ctx)
			defer end()
			return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
				switch {
				case m.Method == mcp.MethodInitialize:
					return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`
				case m.Method == mcp.MethodToolsList:
					if called && reads.Add(1) == 1 {
						time.Sleep(20 * time.Second)
					}
					return oneRawTool
				case m.Method == mcp.MethodToolsCall:
					called = true
					c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
					if strings.Contains(m.text, "die") {
						time.AfterFunc(time.Second, end)
					}
					return `"result":{"content":[]}`
				case m.Method == mcp.MethodPing:
					return `"result":{}`
				}
				return ""
			})
		}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(serverFunc(slow))})
		var clients []*mcpclient.Client
		for range 3 {
			clients = append(clients, mcptest.Connect(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: "eve"}},
				&mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125}}))
		}
		call := func(c *mcpclient.Client, text string) {
			if result, err := c.CallTool(t.Context(), "d__go", map[string]string{"text": text}); err != nil || result.IsError {
				t.Errorf("%s: got %+v, %v, want the call answered", text, result, err)
			}
		}
		call(clients[0], "list for 20 seconds")
		time.Sleep(time.Second)
		call(clients[1], "wait for that")
		call(clients[2], "wait for that and die")
		time.Sleep(2 * time.Second)
		call(clients[2], "live again")
		time.Sleep(20 * time.Second)
		before := reads.Load()
		call(clients[1], "list again")
		time.Sleep(5 * time.Second)
		if got := reads.Load() - before; got != 1 {
			t.Errorf("got %d reads, want one soon after the session has waited", got)
		}
	})
}
