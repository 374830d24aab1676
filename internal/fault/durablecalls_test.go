//go:build unix && replicas

package fault_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// durableReplica is a server with a durable tool, whose replicas share an engine.
func durableReplica() *mcpserver.Server {
	shared, err := openEngine(context.Background(), os.Getenv("FAULT_TEST_ENGINE"), quiet)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	srv := mcpserver.New("builder", "1", &mcpserver.Options{
		Logger: quiet, Store: shared, Bus: shared,
		Keys: []mcpserver.Key{{ID: "k", Secret: bytes.Repeat([]byte("s"), 32)}},
		HTTP: &mcpserver.HTTPOptions{Events: shared.Events()},
	})
	work := tasks.Enable(srv, &tasks.Options{Logger: quiet, Durable: &tasks.DurableOptions{Attempts: 100}})
	srv.Tool("build", "Builds in steps", build, mcpserver.Durable(), work.AsTask())
	return srv
}

func init() {
	roles["durable replica"] = func() {
		os.Args = []string{os.Args[0], "-http", "127.0.0.1:0"}
		mcpserver.Main(durableReplica())
	}
	roles["durable worker"] = func() {
		fmt.Fprintln(os.Stderr, "LISTEN nowhere")
		_ = tasks.Work(context.Background(), durableReplica())
	}
}

// TestReplicasKilledDuringDurableCalls kills one replica after the other while clients of all
// revisions with sessions wait for their calls, and a process that serves nobody runs calls, too.
// Each client gets its result, and no step that was completed happens again.
func TestReplicasKilledDuringDurableCalls(t *testing.T) {
	for name, start := range sharedEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := start(t)
			file := filepath.Join(t.TempDir(), "ledger")
			variables := []string{"FAULT_TEST_FILE=" + file, "FAULT_TEST_ENGINE=" + engine.URL}
			p := &pool{ready: make([]atomic.Pointer[string], sharedReplicas)}
			var replicas []*process
			for i := range sharedReplicas {
				replicas = append(replicas, launch(t, "durable replica", variables...))
				p.set(i, replicas[i].addr)
			}
			launch(t, "durable worker", variables...)
			url := serveBalanced(t, p)
			var calls sync.WaitGroup
			for i := range durableTasks {
				v := []mcp.Revision{mcp.V20250326, mcp.V20250618, mcp.V20251125}[i%3]
				c := connect(t, mcpclient.URL(url+"/mcp"), &mcpclient.Options{Revisions: []mcp.Revision{v}})
				calls.Go(func() {
					house := fmt.Sprint("house ", i)
					got, err := c.Call[string](t.Context(), "build", map[string]string{"name": house})
					if err != nil || got != "built "+house {
						t.Errorf("%s, %s: got %q, %v", v, house, got, err)
					}
				})
			}
			const kills = 3
			for i := range kills {
				ledgerHas(t, file, fmt.Sprintf("completed house 0/%d", 4+6*i))
				began := time.Now()
				_ = replicas[i].kill(syscall.SIGKILL)
				replicas[i] = launch(t, "durable replica", variables...)
				p.set(i, replicas[i].addr)
				t.Logf("replica %d was replaced within %v", i, time.Since(began))
			}
			calls.Wait()
			checkLedger(t, file, kills)
		})
	}
}
