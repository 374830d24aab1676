package deploy_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
)

// container is what a file of a deployment says about a container, with addresses and paths of this
// machine.
type container struct {
	command []string
	env     map[string]string
	addr    string // at which it serves
	check   string // URL that answers 200 when it is ready; empty if it accepts connections then

	server  *testengine.Server // set by start, like process
	process *os.Process
}

// networks counts the networks of this process.
var networks atomic.Int64

// newNetwork returns a function that returns the loopback address of a number.
func newNetwork() func(n int) string {
	id := os.Getpid()*8 + int(networks.Add(1))
	return func(n int) string { return fmt.Sprintf("127.%d.%d.%d", 16+id>>8%200, id%256, n) }
}

// start starts the program of a container, and waits until it is ready. Its own directory is empty.
func (c *container) start(t *testing.T) {
	t.Helper()
	var cmd *exec.Cmd
	c.server = testengine.Run(t, testengine.Program{
		Command: func(_, dir string) *exec.Cmd {
			cmd = exec.Command(c.program(t), c.command[1:]...)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), role + "=1"}
			for name, value := range c.env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			return cmd
		},
		URL:   func(string) string { return "http://" + c.addr },
		Ready: func(ctx context.Context, _ string) error { return c.ready(ctx) },
	})
	c.process = cmd.Process
}

// program returns the path of the program of a container.
func (c *container) program(t *testing.T) string {
	t.Helper()
	switch name := c.command[0]; name {
	case "fondaco":
		return findHost(t)
	case "mcp":
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return self
	default:
		return testengine.Find(t, name, name, "/usr/sbin")
	}
}

// ready returns nil if the container is ready.
func (c *container) ready(ctx context.Context) error {
	if c.check == "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.addr)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.check, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: got %s, want 200", c.check, answer.Status)
	}
	return nil
}

// here replaces names, addresses and paths of containers by those of this machine: pairs of old and new.
type here []string

func (h here) apply(text string) string { return strings.NewReplacer(h...).Replace(text) }

func (h here) applyAll(texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, h.apply(text))
	}
	return all
}

func (h here) applyValues(values map[string]string) map[string]string {
	all := make(map[string]string)
	for name, value := range values {
		all[name] = h.apply(value)
	}
	return all
}

const (
	// publicName is the name by which the files know the hosts.
	publicName = "mcp.example.com"
	keys       = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	token      = "a-token-of-more-than-20-characters"
	tokens     = "laptop:" + token + "\n"
)

// config returns a configuration of the hosts with one server.
func config(t *testing.T) map[string]any {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"mcpServers": map[string]any{
		"up": map[string]any{"command": self, "env": map[string]any{role: "1"}},
	}}
}

// writeFile writes a file of a test, which others cannot read.
func writeFile(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
