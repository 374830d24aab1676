package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// slowServer is a server in raw messages with the tools "go" and "other". Its calls are handled by call,
// on a goroutine of their own. It answers pings unless it is mute.
type slowServer struct {
	revision mcp.Revision
	call     func(c rawConn, m rawMessage)
	mute     atomic.Bool

	mu        sync.Mutex
	pings     []time.Duration // guarded by mu: since the last call began
	began     time.Time       // guarded by mu
	cancelled []string        // guarded by mu
}

func (s *slowServer) Serve(ctx context.Context, conn mcp.Conn) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
		switch m.Method {
		case mcp.MethodPing, mcp.MethodDiscover:
			s.mu.Lock()
			if !s.began.IsZero() {
				s.pings = append(s.pings, time.Since(s.began))
			}
			s.mu.Unlock()
			switch {
			case s.mute.Load():
				return silence(c)
			case m.Method == mcp.MethodPing:
				return emptyResult
			case s.revision.Stateless():
				return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":3600000,"cacheScope":"public"}`
			}
		case mcp.MethodToolsList:
			return `"result":{"resultType":"complete","tools":[{"name":"go","inputSchema":{"type":"object"}},{"name":"other","inputSchema":{"type":"object"}}],"ttlMs":3600000,"cacheScope":"public"}`
		case mcp.MethodToolsCall:
			s.mu.Lock()
			s.began = time.Now()
			s.mu.Unlock()
			c.ctx = ctx
			calls.Go(func() { s.call(c, m) })
		case mcp.NotificationCancelled:
			s.mu.Lock()
			s.cancelled = append(s.cancelled, string(m.Params))
			s.mu.Unlock()
		}
		return ""
	})
}

// silence reads the rest of the messages of a connection, and answers none.
func silence(c rawConn) string {
	_ = silentServer(c.ctx, c.Conn)
	return ""
}

// pinged returns when the server was pinged during the last call.
func (s *slowServer) pinged() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pings
}

// wait waits for a time, and reports false if the connection ends before.
func (c rawConn) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.ctx.Done():
		return false
	}
}

const goneResult = `"result":{"resultType":"complete","content":[{"type":"text","text":"gone"}]}`

// progress sends a notification of progress for a call.
func (c rawConn) progress(m rawMessage, progress int) {
	_, token, _ := strings.Cut(m.text, `"progressToken":`)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token[:strings.IndexAny(token, ",}")], progress))
}

// eachPair runs a test for each pair of eras of an upstream and a caller.
func eachPair(t *testing.T, test func(t *testing.T, up, down mcp.Revision)) {
	t.Helper()
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			t.Run(fmt.Sprintf("%s behind for %s", up, down), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(t, up, down) })
			})
		}
	}
}

// callFor returns the text of a call's result or error, and how long it took.
func callFor(t *testing.T, c *mcpclient.Client, tool string, opts ...mcpclient.CallOption) (text string, took time.Duration) {
	t.Helper()
	began := time.Now()
	result, err := c.CallTool(t.Context(), tool, nil, opts...)
	took = time.Since(began).Truncate(time.Second) // without the pause after a first call
	if err != nil {
		return err.Error(), took
	}
	return result.Content.Text(), took
}

// patient are options of a client that waits as long as the host does.
func patient(revision mcp.Revision) *mcpclient.Options {
	return &mcpclient.Options{Revisions: []mcp.Revision{revision}, Logger: quiet, Timeouts: mcpclient.TimeoutOptions{Call: -1, MaxCall: -1}}
}

func TestCallOfAServerThatAnswersNoPingMayHaveRun(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, up, down mcp.Revision) {
		s := &slowServer{revision: up}
		first := true
		s.call = func(c rawConn, m rawMessage) {
			if !first {
				c.respond(m.ID, goneResult)
				return
			}
			first = false
			s.mute.Store(true)
		}
		seen := new(decisions)
		g := startWith(t, &gateway.Options{OnDecision: seen.add}, host.Upstream{Key: "d", Target: mcpclient.InProcess(s)})
		c := mcptest.Connect(t, g.Server(), patient(down))
		text, took := callFor(t, c, "d__go")
		if !strings.Contains(text, "no message for 30s, and no answer to a ping; the call may have run") || took != time.Minute {
			t.Errorf("got %q after %v, want the call ended a minute after its last message", text, took)
		}
		s.mute.Store(false)
		time.Sleep(time.Minute)
		if text, _ := callFor(t, c, "d__go"); text != "gone" {
			t.Errorf("got %q, want a new connection to be used", text)
		}
		if state := g.Status()[0]; state.State != host.Ready {
			t.Errorf("got %+v, want it ready", state)
		}
	})
}

func TestCallOfAServerThatAnswersPingsGoesOnAndTheStateSaysSo(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, up, down mcp.Revision) {
		s := &slowServer{revision: up, call: func(c rawConn, m rawMessage) {
			if c.wait(5*time.Minute + time.Second) {
				c.respond(m.ID, goneResult)
			}
		}}
		var reported []host.State
		g := startWith(t, &gateway.Options{OnStatus: func(s host.Status) { reported = append(reported, s.State) }}, host.Upstream{Key: "d", Target: mcpclient.InProcess(s)})
		c := mcptest.Connect(t, g.Server(), patient(down))
		go func() {
			time.Sleep(119 * time.Second)
			if state := g.Status()[0]; state.State != host.Ready {
				t.Errorf("got %+v before two minutes, want it ready", state)
			}
			time.Sleep(2 * time.Second)
			if state := g.Status()[0]; state.State != host.Degraded || state.Reason != "a call has been without a message for 2m0s; the server answers pings" {
				t.Errorf("got %+v after two minutes, want it degraded", state)
			}
		}()
		if text, took := callFor(t, c, "d__go"); text != "gone" || took != 5*time.Minute+time.Second {
			t.Errorf("got %q after %v, want the result", text, took)
		}
		synctest.Wait()
		if state := g.Status()[0]; state.State != host.Ready {
			t.Errorf("got %+v after the call, want it ready", state)
		}
		if got := fmt.Sprint(reported); got != "[ready degraded ready]" {
			t.Errorf("got states %v reported, want ready, degraded, ready", got)
		}
		got := s.pinged()
		for at := 30 * time.Second; at <= 5*time.Minute; at += 30 * time.Second {
			if !slices.Contains(got, at) {
				t.Errorf("got pings after %v, want one after each 30 s", got)
			}
		}
	})
}

func TestCallWithoutProgressEndsAfterTenMinutes(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, up, down mcp.Revision) {
		s := &slowServer{revision: up, call: func(c rawConn, m rawMessage) {
			for i := range 3 {
				if !c.wait(9 * time.Minute) {
					return
				}
				c.progress(m, i+1)
			}
			if strings.Contains(m.text, `"other"`) && c.wait(9*time.Minute) {
				c.respond(m.ID, goneResult)
			}
		}}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(s)})
		c := mcptest.Connect(t, g.Server(), patient(down))
		if text, took := callFor(t, c, "d__other"); text != "gone" || took != 36*time.Minute {
			t.Errorf("got %q after %v, want the result of a call with progress", text, took)
		}
		text, took := callFor(t, c, "d__go")
		if !strings.Contains(text, "no progress for 10m0s; the call may have run") || took != 37*time.Minute {
			t.Errorf("got %q after %v, want the call ended ten minutes after its last progress", text, took)
		}
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !strings.Contains(strings.Join(s.cancelled, "\n"), "the timeout of the call expired") { // beside cancelled pings
			t.Errorf("got %q, want the call cancelled at the server", s.cancelled)
		}
	})
}

func TestCallEndsAtTheTimeoutOfItsTool(t *testing.T) {
	t.Parallel()
	settings := host.Settings{Timeouts: []host.CallTimeout{{Tools: "o*", Timeout: 15 * time.Minute}, {Tools: "*", Timeout: 20 * time.Second}}}
	eachPair(t, func(t *testing.T, up, down mcp.Revision) {
		s := &slowServer{revision: up, call: func(c rawConn, m rawMessage) {
			for i := 0; c.wait(4 * time.Second); i++ {
				if i < 10 {
					c.progress(m, i+1)
				}
			}
		}}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(s), Settings: settings})
		c := mcptest.Connect(t, g.Server(), patient(down))
		for tool, want := range map[string]time.Duration{"d__go": 20 * time.Second, "d__other": 15 * time.Minute} {
			text, took := callFor(t, c, tool)
			if !strings.Contains(text, fmt.Sprintf("no result within %v, its timeout; the call may have run", want)) || took != want {
				t.Errorf("%s: got %q after %v, want it ended after %v", tool, text, took, want)
			}
		}
		callFor(t, c, "d__go")
		if state := g.Status()[0]; state.State != host.Failing {
			t.Errorf("got %+v after three calls that took too long, want it failing", state)
		}
	})
}

// At an upstream of the stateless era the tool runs once more when the person has answered, so the call takes
// 75 s there instead of 50 s.
func TestTimeOfAPersonDoesNotCountAsTimeOfTheCall(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]string{80 * time.Second: "Ada", time.Minute: "no result within 1m0s"} {
		eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
			if !up.Stateless() {
				testTimeOfAPerson(t, up, down, timeout, "Ada")
				return
			}
			testTimeOfAPerson(t, up, down, timeout, want)
		})
	}
}

func testTimeOfAPerson(t *testing.T, up, down mcp.Revision, timeout time.Duration, want string) {
	settings := host.Settings{Timeouts: []host.CallTimeout{{Tools: "*", Timeout: timeout}}}
	synctest.Test(t, func(t *testing.T) {
		srv := mcpserver.New("d", "1", &mcpserver.Options{Revisions: []mcp.Revision{up}, Logger: quiet})
		srv.Tool("go", "Go", func(ctx context.Context, _ struct{}) (string, error) {
			work := rawConn{ctx: ctx}
			work.wait(25 * time.Second)
			guest, err := mcpserver.Ask[greeting](ctx, "who", "Who?")
			if err == nil {
				work.wait(25 * time.Second)
			}
			return guest.Name, err
		})
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(srv), Settings: settings})
		o := patient(down)
		o.ElicitForm = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			time.Sleep(9 * time.Minute)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
		}
		c := mcptest.Connect(t, g.Server(), o)
		text, _ := callFor(t, c, "d__go")
		if !strings.Contains(text, want) {
			t.Errorf("timeout %v: got %q, want %q", timeout, text, want)
		}
	})
}

// The upstream is silent as soon as it has been asked to run the call, and its connection stays open: a
// relay in between no longer forwards anything.
func TestCallBehindADeadRelayMayHaveRun(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, up, down mcp.Revision) {
		s := &slowServer{revision: up, call: func(c rawConn, m rawMessage) { c.respond(m.ID, goneResult) }}
		relay := &deadRelay{Server: s}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(relay), Settings: host.Settings{Share: true}})
		c := mcptest.Connect(t, g.Server(), patient(down))
		if text, _ := callFor(t, c, "d__go"); text != "gone" {
			t.Fatalf("got %q through the relay", text)
		}
		relay.die()
		text, took := callFor(t, c, "d__go")
		if !strings.Contains(text, "no answer to a ping; the call may have run") || took != time.Minute {
			t.Errorf("got %q after %v, want the call ended", text, took)
		}
		if text, _ := callFor(t, c, "d__go"); text != "gone" {
			t.Errorf("got %q, want a new connection", text)
		}
	})
}

func TestFloodOfMessagesDoesNotKeepACallFromItsDeadline(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, up, down mcp.Revision) {
		s := &slowServer{revision: up, call: flood}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(s)})
		c := mcptest.Connect(t, g.Server(), patient(down))
		text, took := callFor(t, c, "d__go")
		if !strings.Contains(text, "no result within 1h0m0s; the call may have run") || took != time.Hour {
			t.Errorf("got %q after %v, want the call ended after an hour", text, took)
		}
	})
}
