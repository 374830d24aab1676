//go:build unix

package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func init() {
	// slow serves as soon as there is a file.
	roles["slow"] = func() {
		for !exists(os.Args[1]) {
			time.Sleep(time.Millisecond)
		}
		mcpserver.Main(process(nil))
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A start that takes longer than requests wait goes on, whatever is requested meanwhile. The client
// declares capabilities, for which the lists are read over a connection of their own: afterwards.
func TestSlowStartIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	goOn := filepath.Join(dir, "go")
	var early, late atomic.Int32
	u := child("slow", "slow")
	u.Target.(*mcpclient.CommandTarget).Args = []string{goOn}
	g := gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, StartTimeout: time.Millisecond, CallStartTimeout: time.Millisecond, Admit: func(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
		if exists(goOn) {
			late.Add(1)
		} else {
			early.Add(1)
		}
		return u.Resolved(ctx)
	}})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
	for range 10 {
		if tools := toolNames(t, c); len(tools) != 0 {
			t.Errorf("got %v, want no tools yet", tools)
		}
		result, err := c.CallTool(t.Context(), "slow__pid", nil)
		if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "still starting") {
			t.Errorf("got %+v, %v of a server that has not started", result, err)
		}
	}
	await(t, g, "slow", host.Starting)
	if n := early.Load(); n != 1 {
		t.Errorf("got %d starts, want one that goes on", n)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, g, "slow", host.Ready)
	for deadline := time.Now().Add(testTimeout); late.Load() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("got no start for the capabilities of the client after the first one")
		}
	}
}

// The longer limits are for slow machines, where the program may write late.
func TestStartupTimeoutEndsAStartAndSaysWhatTheProgramLastWrote(t *testing.T) {
	t.Parallel()
	const written = "downloading with the token 12345"
	for _, limit := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, time.Minute} {
		var mu sync.Mutex
		var reasons []string
		u := child("silent", "silent")
		u.Settings.StartupTimeout = limit
		g := gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, OnDecision: func(d host.Decision) error {
			mu.Lock()
			defer mu.Unlock()
			reasons = append(reasons, d.Reason)
			return nil
		}})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		s := await(t, g, "silent", host.Failed, host.Suspended)
		if want := "not connected within " + limit.String(); !strings.Contains(s.Reason, want) {
			t.Fatalf("got %q, want %s", s.Reason, want)
		}
		g.Close()
		mu.Lock()
		all := strings.Join(reasons, "\n")
		mu.Unlock()
		if !strings.Contains(all, "not connected within") || strings.Contains(all, written) {
			t.Errorf("got the records %q, want the reason without what the program has written", all)
		}
		if strings.Contains(s.Reason, "standard error: "+written) {
			return
		}
	}
	t.Errorf("got no reason with %q", written)
}
