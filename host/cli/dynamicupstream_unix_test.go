//go:build unix && !race

package cli_test

import (
	"context"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// hostClient is a client of a host, with one token for each list that was announced as changed.
type hostClient struct {
	*mcpclient.Client
	tools, prompts, resources chan struct{}
}

func connectToHost(t *testing.T, target mcpclient.Target, r mcp.Revision) *hostClient {
	t.Helper()
	h := &hostClient{tools: make(chan struct{}, 1), prompts: make(chan struct{}, 1), resources: make(chan struct{}, 1)}
	changed := func(c chan struct{}) func(context.Context, *mcpclient.Client) {
		return func(context.Context, *mcpclient.Client) {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
	c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{
		Revisions: []mcp.Revision{r}, Logger: quiet,
		OnToolsChanged: changed(h.tools), OnPromptsChanged: changed(h.prompts), OnResourcesChanged: changed(h.resources),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	h.Client = c
	return h
}

// awaitAll waits until all lists were announced as changed.
func (h *hostClient) awaitAll(t *testing.T) {
	t.Helper()
	for name, c := range map[string]chan struct{}{"tools": h.tools, "prompts": h.prompts, "resources": h.resources} {
		select {
		case <-c:
		case <-time.After(maxWait):
			t.Fatalf("the new list of %s was not announced", name)
		}
	}
}

// listed returns the names of what the server has added and the client lists.
func (h *hostClient) listed(t *testing.T) string {
	t.Helper()
	var names []string
	for tool, err := range h.Tools(t.Context(), mcpclient.NoCache()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	for prompt, err := range h.Prompts(t.Context(), mcpclient.NoCache()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, prompt.Name)
	}
	for resource, err := range h.Resources(t.Context(), mcpclient.NoCache()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, resource.URI)
	}
	return strings.Join(slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"d__pid", "d__hold", "d__enable"}, name)
	}), " ")
}

// uses returns what the client gets of the features that the server has added.
func (h *hostClient) uses(t *testing.T) (pid int, err error) {
	t.Helper()
	if pid, err = h.Call[int](t.Context(), "d__issues", nil); err != nil {
		return 0, err
	}
	if _, err := h.GetPrompt(t.Context(), "d__triage", nil); err != nil {
		return 0, err
	}
	_, err = h.ReadResource(t.Context(), "issues://open")
	return pid, err
}

// A program adds tools, prompts and resources while it runs, and "fondaco up" offers them to the
// client whose call has added them.
func TestFeaturesThatAProgramAddsAreOfTheClientThatEnablesThem(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-412")
	for _, as := range []string{"dynamic", "dynamic sessions"} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := filepath.Join(home, ".config", "fondaco", "mcp.json") // the user's own, because "dynamic" is in it
			config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"d": map[string]any{"command": program(t), "env": map[string]string{role: as}, "fondaco": map[string]bool{"dynamic": true}}}})
			if err == nil {
				err = os.MkdirAll(filepath.Dir(path), 0o700)
			}
			if err == nil {
				err = os.WriteFile(path, config, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			p := start(t, home, program(t)+" up --addr 127.0.0.1:0 --yes --config "+path)
			base := "http://" + p.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1]
			p.stderr.await(t, upstreamsStarted)
			for _, c := range []*hostClient{
				connectToHost(t, mcpclient.URL(base+"/mcp"), mcp.V20251125),
				connectToHost(t, mcpclient.URL(base+"/mcp"), mcp.V20250618),
				connectToHost(t, mcpclient.EventStream(base+"/sse"), mcp.V20241105),
			} {
				other := connectToHost(t, mcpclient.URL(base+"/mcp"), mcp.V20251125)
				process, err := c.Call[int](t.Context(), "d__pid", nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := other.Call[int](t.Context(), "d__pid", nil); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Call[string](t.Context(), "d__enable", nil); err != nil {
					t.Fatal(err)
				}
				c.awaitAll(t)
				if got := c.listed(t); got != "d__issues d__triage issues://open" {
					t.Errorf("%s: listed %q, want what the server has added", c.Revision(), got)
				}
				if pid, err := c.uses(t); err != nil || pid != process {
					t.Errorf("%s: got %d, %v, want the client's own process, %d", c.Revision(), pid, err, process)
				}
				if got := other.listed(t); got != "" {
					t.Errorf("%s: another client listed %q", c.Revision(), got)
				}
				if pid, err := other.uses(t); err == nil {
					t.Errorf("%s: another client used process %d", c.Revision(), pid)
				}
			}
			stateless := connectToHost(t, mcpclient.URL(base+"/mcp"), mcp.V20260728)
			if _, err := stateless.uses(t); err == nil {
				t.Error("a client of 2026-07-28 used what sessions have enabled")
			}
			if _, err := stateless.Call[string](t.Context(), "d__enable", nil); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(maxWait); ; time.Sleep(10 * time.Millisecond) { // the host reads the lists
				if _, err = stateless.uses(t); err == nil || time.Now().After(deadline) {
					break
				}
			}
			if got := stateless.listed(t); got != "" || err != nil {
				t.Errorf("a client of 2026-07-28 listed %q and got %v, want them in no list and used", got, err)
			}
			if code := p.signal(t, syscall.SIGTERM); code != 0 {
				t.Errorf("got exit code %d, want 0", code)
			}
		})
	}
}
