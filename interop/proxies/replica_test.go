package proxies_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// role is set for the processes that are replicas.
	role = "FONDACO_PROXIES_REPLICA"
	// publicName is the name by which the configurations know the server.
	publicName = "mcp.example.com"
	keys       = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	// keepAlive is a fifteenth of the default. The timeouts of the proxies are divided by ten,
	// so that the relation between the two is tighter than in production.
	keepAlive = time.Second
)

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		mcpserver.Main(newReplica())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// waitArgs are the arguments of the tool wait.
type waitArgs struct {
	URL string `json:"url"`
	// Progress makes the tool report progress before it waits.
	Progress bool `json:"progress,omitzero"`
}

// newReplica returns the server of a replica.
func newReplica() *mcpserver.Server {
	srv := mcpserver.New("replica", "1.0.0", &mcpserver.Options{HTTP: &mcpserver.HTTPOptions{
		AllowedHosts: []string{publicName},
		KeepAlive:    keepAlive,
		LameDuck:     3 * time.Second,
	}})
	srv.Tool("pid", "Returns the number of the process", func(context.Context, struct{}) (int, error) {
		return os.Getpid(), nil
	}, mcpserver.ReadOnly())
	srv.Tool("wait", "Waits until a URL answers, and returns the answer", func(ctx context.Context, in waitArgs) (string, error) {
		if in.Progress {
			mcpserver.Progress(ctx, 1, 2, "waiting")
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, nil)
		if err != nil {
			return "", err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	})
	return srv
}

// startReplicas starts three replicas with the same keys.
func startReplicas(t *testing.T) (all []*testengine.Server) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		all = append(all, testengine.Run(t, testengine.Program{
			Command: func(addr, _ string) *exec.Cmd {
				cmd := exec.Command(self, "-http", addr)
				cmd.Env = append(os.Environ(), role+"=1", mcpserver.KeysVariable+"="+keys)
				return cmd
			},
			URL: func(addr string) string { return "http://" + addr },
		}))
	}
	return all
}
