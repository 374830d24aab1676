//go:build unix

package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func init() {
	// changing is a server of the session era that adds a tool after each list, and notes each list with the
	// number of its process in the file that its argument names.
	roles["changing"] = func() {
		f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		srv := process(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}, Dynamic: true})
		lists := 0
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				result, err := next(ctx, r)
				if r.Method() == mcp.MethodToolsList {
					fmt.Fprintln(f, os.Getpid())
					lists++
					srv.Tool(fmt.Sprint("added", lists), "Added", func(context.Context, struct{}) (string, error) { return "", nil })
				}
				return result, err
			}
		})
		mcpserver.Main(srv)
	}
}

// startNoting starts a gateway to a program that notes process numbers in a file, and returns what reads them.
func startNoting(t *testing.T, as string) (g *gateway.Gateway, pids func() []string) {
	t.Helper()
	g, _, pids = startNotingWithRoots(t, as)
	return g, pids
}

// startNotingWithRoots is startNoting for a program with roots, and returns its configuration, too.
func startNotingWithRoots(t *testing.T, as string, roots ...string) (g *gateway.Gateway, u host.Upstream, pids func() []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pids")
	u = child("c", as)
	u.Target.(*mcpclient.CommandTarget).Args, u.Settings.Roots = []string{file}, roots
	g = gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, StartTimeout: testTimeout})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	return g, u, func() []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(text))
	}
}

// listAble lists the tools as a client with a capability until a condition is true.
func listAble(t *testing.T, g *gateway.Gateway, what string, until func() bool) {
	t.Helper()
	elicit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, mcpclient.ErrClosed }
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{ElicitForm: elicit, Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for deadline := time.Now().Add(testTimeout); !until(); time.Sleep(50 * time.Millisecond) {
		toolNames(t, c)
		if time.Now().After(deadline) {
			t.Fatal("want " + what)
		}
	}
}

// Lists for certain capabilities are read again in the process that has answered them, while no caller has it.
func TestListsForCapabilitiesAreReadAgainInTheSameProcess(t *testing.T) {
	t.Parallel()
	g, pids := startNoting(t, "changing")
	times := make(map[string]int)
	listAble(t, g, "the lists for capabilities read twice", func() bool {
		clear(times)
		first := pids()[0] // of the shared connection
		for _, pid := range pids() {
			times[pid]++
		}
		for pid, n := range times {
			if pid != first && n > 1 {
				return true
			}
		}
		return len(times) > 2
	})
	if len(times) != 2 {
		t.Errorf("got lists of %d processes, want the shared one, and one that is kept", len(times))
	}
}

// The state does not count a process that was kept for a caller and has exited.
// Nobody would notify a process that waits for a caller of other roots.
func TestKeptProcessIsNotUsedWithOtherRoots(t *testing.T) {
	t.Parallel()
	g, u, pids := startNotingWithRoots(t, "changing", t.TempDir())
	others := func(known ...string) (more []string) {
		for _, pid := range pids() {
			if !slices.Contains(known, pid) && !slices.Contains(more, pid) {
				more = append(more, pid)
			}
		}
		return more
	}
	listAble(t, g, "a process for clients with a capability", func() bool { return len(others()) == 2 })
	before := others()
	u.Settings.Roots = []string{t.TempDir()}
	g.Reload([]host.Upstream{u})
	listAble(t, g, "another process after the change", func() bool { return len(others(before...)) == 1 })
}

func TestKeptProcessThatExitsIsNotCounted(t *testing.T) {
	t.Parallel()
	g, pids := startNoting(t, "counted")
	processes := func(n int) func() bool { return func() bool { return g.Status()[0].Processes == n } }
	listAble(t, g, "a process for the lists", processes(2))
	var kept int
	if _, err := fmt.Sscan(pids()[1], &kept); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(kept, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(testTimeout); !processes(1)(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %d processes, want the exited one gone", g.Status()[0].Processes)
		}
	}
}
