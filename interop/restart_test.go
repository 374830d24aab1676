package interop_test

import (
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// restartable is a foreign server over HTTP, a module of Node, that can be restarted at its
// address.
type restartable struct {
	*process
	words []string
}

func startRestartable(t *testing.T, words ...string) *restartable {
	t.Helper()
	s := &restartable{words: append([]string{"--require", "./loopback.cjs"}, words...)}
	s.process = start(t, []string{"PORT=0"}, "node", s.words...)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// startAgain starts another process, which knows nothing of the sessions of the first.
func (s *restartable) startAgain(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	s.process = start(t, []string{"PORT=" + port}, "node", s.words...)
}

// The reference server answers requests of an unknown session with 400, the other one with 404.
func TestClientOpensItsSessionAgainWhenAServerWasRestarted(t *testing.T) {
	needPeers(t)
	t.Parallel()
	for _, to := range []struct {
		name string
		*restartable
		revision mcp.Revision
		plan
	}{
		{"everything", startRestartable(t, everythingModule, "streamableHttp"), mcp.V20251125, everythingPlan("grown")},
		{"typescript", startRestartable(t, "oldsdk.mjs", "sdk-1.20", "http"), mcp.V20250618, typescriptPlan("grown")},
	} {
		t.Run(to.name, func(t *testing.T) {
			g := connectRunner(t, mcpclient.URL("http://"+to.addr+"/mcp"), to.revision)
			before := to.plan[:2]
			before.check(t, nil, g.run(t, before, nil))
			to.stop(t)
			to.startAgain(t)
			to.check(t, nil, g.run(t, to.plan, nil))
			if err := g.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// Calls fail only while the server is not running, and the host says so.
func TestHostOpensItsSessionsAgainWhenAServerWasRestarted(t *testing.T) {
	needPeers(t)
	t.Parallel()
	s := startRestartable(t, everythingModule, "streamableHttp")
	h := startHost(t, map[string]upstream{"everything": {URL: "http://" + s.addr + "/mcp"}})
	p := plan{
		list("echo", "get-sum"),
		call("echo", args{"message": "caffè"}, answer{Text: "Echo: caffè"}),
		asked("trigger-elicitation-request", regexp.MustCompile("- Name: Ada")),
	}.behind("everything")
	clients := ourClients[:2]
	var runners []*stepRunner
	for _, c := range clients {
		g := connectRunner(t, mcpclient.URL("http://"+h.addr+"/mcp"), c.revision)
		defer g.Close()
		p[:2].check(t, nil, g.run(t, p[:2], nil))
		runners = append(runners, g)
	}
	s.stop(t)
	for range 3 {
		if text, err := runners[0].Call[string](t.Context(), "everything__echo", args{"message": "caffè"}); err == nil {
			t.Errorf("got %q, want an error, because the server is not running", text)
		}
	}
	if shown := statusOf(t, h, "everything"); shown.State != "failing" || !strings.Contains(shown.Reason, "connection refused") {
		t.Errorf("the server is %s: %q, want it failing: connection refused", shown.State, shown.Reason)
	}
	s.startAgain(t)
	for i, c := range clients {
		t.Run(c.revision.String(), func(t *testing.T) {
			p := slices.Clone(p)
			if c.revision != mcp.V20260728 { // where a log message outside of a call reaches nobody
				p = append(p, plan{logged("toggle-simulated-logging", nil, regexp.MustCompile("[- ]level[- ]message"))}.behind("everything")...)
			}
			p.check(t, nil, runners[i].run(t, p, nil))
		})
	}
	shown := statusOf(t, h, "everything")
	if shown.State != "ready" || shown.SessionsLost < len(clients) {
		t.Errorf("the server is %s and has lost %d sessions: want it ready, and at least %d sessions lost", shown.State, shown.SessionsLost, len(clients))
	}
	for _, g := range runners {
		if err := g.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	h.interrupt(t)
}
