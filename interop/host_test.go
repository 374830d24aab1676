package interop_test

import (
	"context"
	"encoding/json/v2"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A failure here means that a user who starts fondaco without a configuration cannot
// try it with a client of another SDK.
func TestForeignClientsUseTheDemonstration(t *testing.T) {
	needPeers(t)
	t.Parallel()
	h := startHost(t, nil)
	for _, c := range remote(foreignClients) {
		t.Run(c.String(), func(t *testing.T) {
			c.visit(t, server{addr: h.addr}, demoPlan(slug(c.String())).behind("demo"), nil)
		})
	}
	h.interrupt(t)
}

// A failure here means that servers, over any transport, lose features behind fondaco
// or interfere with each other there.
func TestClientsUseServersThroughTheHost(t *testing.T) {
	needPeers(t)
	t.Parallel()
	mark := t.TempDir() // an argument that identifies the child process
	h := startHost(t, map[string]upstream{
		// Shared, because its tools add resources. All clients that share the connection are
		// notified; the host does not list resources that a server adds for one session only.
		"everything":      {Command: "node", Args: []string{absolute(t, everythingModule), "stdio", mark}, Settings: sharing},
		"everything-sse":  {URL: "http://" + startForeign(t, everythingModule, "sse") + "/sse", Settings: sharing},
		"everything-http": {URL: "http://" + startForeign(t, everythingModule, "streamableHttp") + "/mcp", Settings: sharing},
		"typescript":      {URL: "http://" + startForeign(t, "server.mjs", "http") + "/mcp"},
		"trip-1":          {Command: "node", Args: []string{absolute(t, "trip.mjs"), "1"}},
		"trip-2":          {Command: "node", Args: []string{absolute(t, "trip.mjs"), "2"}},
		"ours":            {URL: "unix://" + serveDemoOnSocket(t)},
		"crashing":        {Command: "node", Args: []string{"--eval", "throw new Error('the disk is gone')"}},
	})
	waitForServers(t, server{addr: h.addr})
	wantChildren(t, mark, 1)
	plans := map[string]func(string) plan{
		"everything": everythingPlan, "everything-sse": everythingPlan, "everything-http": everythingPlan,
		"typescript": typescriptPlan, "trip-1": tripPlan, "trip-2": tripPlan,
	}
	clients := remote(slices.Concat(foreignClients, ourClients))
	t.Run("through", func(t *testing.T) {
		for key, planOf := range plans {
			t.Run(key, func(t *testing.T) {
				t.Parallel() // the clients run in sequence, because they share the session with the server
				for _, c := range clients {
					t.Run(c.String(), func(t *testing.T) {
						p := planOf(slug(c.String() + " " + key)).behind(key)
						c.visit(t, server{addr: h.addr}, p, throughTheHost(c.revision, key))
					})
				}
			})
		}
	})
	t.Run("at once", func(t *testing.T) {
		for _, c := range clients {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				c.visit(t, server{addr: h.addr}, allAtOncePlan(c), nil)
			})
		}
	})
	wantTrouble(t, h, "crashing", "the disk is gone")
	connectListeners(t, server{addr: h.addr})
	h.interrupt(t)
	wantChildren(t, mark, 0)
}

// A process of its own for each client: the reference server then has tools for clients that
// can be asked, and its log messages reach the session that owns the process.
func TestClientsOfTheHostHaveTheirOwnReferenceServer(t *testing.T) {
	needPeers(t)
	t.Parallel()
	h := startHost(t, map[string]upstream{
		"everything": {Command: "node", Args: []string{absolute(t, everythingModule), "stdio"}},
	})
	for _, c := range remote(ourClients) {
		t.Run(c.String(), func(t *testing.T) {
			p := plan{
				list("echo", "get-sum"),
				logged("toggle-simulated-logging", nil, regexp.MustCompile("[- ]level[- ]message")),
				asked("trigger-elicitation-request", regexp.MustCompile("- Name: Ada")),
			}
			c.visit(t, server{addr: h.addr}, p.behind("everything"), withoutForms(c.revision))
		})
	}
	h.interrupt(t)
}

// waitForServers waits until the servers of a host have started, as each list does.
func waitForServers(t *testing.T, s server) {
	t.Helper()
	client, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.url("http")), &mcpclient.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, err := range client.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The results without the host must be the same as those through the host.
func TestForeignClientsAreAskedByForeignServers(t *testing.T) {
	needPeers(t)
	t.Parallel()
	for _, c := range foreignClients {
		if c.over != "stdio" {
			continue
		}
		for _, sdk := range []string{"1", "2"} {
			t.Run(c.sdk+" by "+sdk, func(t *testing.T) {
				if c.sdk == "2-modern" && sdk == "1" {
					return // they have no revision in common
				}
				revision := c.revision
				if sdk == "1" {
					revision = mcp.V20251125
				}
				visitForeign(t, c.sdk, "stdio:node trip.mjs "+sdk, revision, tripPlan(""), nil)
			})
		}
	}
}

// status is what "fondaco servers" shows of a server.
type status struct {
	State, Reason string
	Stderr        []string
	SessionsLost  int
}

func statusOf(t *testing.T, h *process, key string) status {
	t.Helper()
	cmd := exec.Command(program("fondaco"), "servers", key, "--json", "--url", "http://"+h.addr+"/mcp")
	cmd.Env = h.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	var shown struct{ Server status }
	if err := json.Unmarshal(out, &shown, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return shown.Server
}

// wantTrouble checks that the host reports the failure of a server that cannot run, and the end
// of standard error.
func wantTrouble(t *testing.T, h *process, key, said string) {
	t.Helper()
	got := statusOf(t, h, key)
	if got.State != "failed" && got.State != "suspended" || got.Reason == "" {
		t.Errorf("the server %s is %s: %q, want it failed or suspended, with a reason", key, got.State, got.Reason)
	}
	if !strings.Contains(strings.Join(got.Stderr, "\n"), said) {
		t.Errorf("of what it wrote to standard error is shown %q, want %q in it", got.Stderr, said)
	}
}

// throughTheHost returns the features of a server that clients of a revision cannot use
// through the host.
func throughTheHost(v mcp.Revision, key string) lacks {
	l := withoutForms(v).with(nil)
	if strings.HasPrefix(key, "everything") {
		l["asked"] = "the server offers the tool only to clients that support elicitation, and a shared connection supports none"
		l["logged"] = "the server logs outside of calls, and on a shared connection such a message belongs to no client"
	}
	if v == mcp.V20241105 || v == mcp.V20250326 {
		l["structured"] = "the revision has no structured content"
	}
	return l
}

// connectListeners connects our clients, which listen for changes until the server ends.
func connectListeners(t *testing.T, s server) {
	t.Helper()
	for _, c := range ourClients {
		client, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.url(c.over)), &mcpclient.Options{
			Revisions:      []mcp.Revision{c.revision},
			OnToolsChanged: func(context.Context, *mcpclient.Client) {},
			Logger:         slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
	}
}

// upstream is a server in a configuration.
type upstream struct {
	Command  string            `json:"command,omitzero"`
	Args     []string          `json:"args,omitzero"`
	URL      string            `json:"url,omitzero"`
	Env      map[string]string `json:"env,omitzero"`
	Settings settings          `json:"fondaco"`
}

type settings struct {
	Share   bool `json:"share,omitzero"`
	Dynamic bool `json:"dynamic"`
}

var sharing = settings{Share: true}

func absolute(t *testing.T, path string) string {
	t.Helper()
	whole, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// startHost starts "fondaco up" with an empty home directory, so that it does not read
// the configuration of the user who runs the test, and with the demonstration if there are no
// servers. What servers add while they run does not wait for an approval. The test must interrupt
// the host.
func startHost(t *testing.T, servers map[string]upstream) *process {
	t.Helper()
	home := t.TempDir()
	if servers != nil {
		configure(t, home, servers)
	}
	h := start(t, []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}, program("fondaco"), "up", "--addr", "127.0.0.1:0", "--yes")
	t.Cleanup(h.kill) // if the test fails before it interrupts the host
	return h
}

// configure writes the user's own configuration: in the file of a project a server cannot be
// dynamic.
func configure(t *testing.T, home string, servers map[string]upstream) {
	t.Helper()
	for name, s := range servers {
		s.Settings.Dynamic = true
		servers[name] = s
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers}, json.Deterministic(true))
	dir := filepath.Join(home, "fondaco")
	if err := errors.Join(err, os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "mcp.json"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// interrupt sends SIGINT to the process and checks that it exits with code 0.
func (p *process) interrupt(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("interrupt: %v", err)
	}
	if err := p.await(t); err != nil {
		t.Errorf("%s after an interrupt: %v, want exit code 0\n%s", p, err, p.said)
	}
}

// wantChildren checks the number of processes that have mark as an argument. It checks
// nothing outside of Linux, where there is no /proc.
func wantChildren(t *testing.T, mark string, want int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("children are not counted here")
		return
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file) // an error means that the process has ended
		if words := strings.Split(string(line), "\x00"); err == nil && slices.Contains(words, mark) {
			found = append(found, strings.Join(words, " "))
		}
	}
	if len(found) != want {
		t.Errorf("the children are %q, want %d", found, want)
	}
}
