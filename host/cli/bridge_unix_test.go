//go:build unix && !race

package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// startShared starts a host whose only server has one process for all callers, and returns
// the home of its user.
func startShared(t *testing.T) (host *process, home string) {
	t.Helper()
	home = t.TempDir()
	content := fmt.Sprintf(`{"mcpServers": {"one": {"command": %q, "env": {%q: "upstream"}, "fondaco": {"share": true}}}}`, program(t), role)
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	host = start(t, home, "env XDG_RUNTIME_DIR="+home+"/run "+program(t)+" up --yes --addr 127.0.0.1:0 --config mcp.json")
	host.stderr.await(t, upstreamsStarted)
	return host, home
}

// overStdio connects as an application does that starts "fondaco stdio".
func overStdio(t *testing.T, home string, revision mcp.Revision, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	target := mcpclient.Command(program(t), "stdio", "--config", filepath.Join(home, "mcp.json"))
	target.Env = map[string]string{role: "fondaco", "HOME": home, "XDG_RUNTIME_DIR": filepath.Join(home, "run")}
	o.Revisions, o.Logger = []mcp.Revision{revision}, quiet
	c, err := mcpclient.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestStdioServesTheServersOfTheRunningHost(t *testing.T) {
	t.Parallel()
	host, home := startShared(t)
	pids := make(map[int]bool)
	for _, revision := range []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		pid, err := overStdio(t, home, revision, new(mcpclient.Options)).Call[int](t.Context(), "one__pid", nil)
		if err != nil {
			t.Fatal(err)
		}
		pids[pid] = true
	}
	if len(pids) != 1 {
		t.Errorf("got processes %v, want that of the running host alone", pids)
	}
	if code := host.signal(t, syscall.SIGTERM); code != 0 {
		t.Errorf("got exit code %d, want 0\n%s", code, host.stderr.String())
	}
	// Without a running host there is a host in the process itself.
	pid, err := overStdio(t, home, mcp.V20251125, new(mcpclient.Options)).Call[int](t.Context(), "one__pid", nil)
	if err != nil || pids[pid] {
		t.Errorf("got process %d, %v, want another one than %v", pid, err, pids)
	}
}

func TestStdioDoesNotJoinAHostOfAnotherConfiguration(t *testing.T) {
	t.Parallel()
	_, home := startShared(t)
	if err := os.WriteFile(filepath.Join(home, "other.json"), []byte(`{"mcpServers": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"--config other.json", ""} {
		p := start(t, home, "env XDG_RUNTIME_DIR="+home+"/run "+program(t)+" stdio "+flags+" </dev/null")
		if code := p.end(t); code != 0 || strings.Contains(p.stderr.String(), "running host") {
			t.Errorf("%q: got %d, %s, want a host of its own", flags, code, p.stderr.String())
		}
	}
}

func TestStdioJoinsTheDemonstration(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	run := "env XDG_RUNTIME_DIR=" + home + "/run " + program(t)
	start(t, home, run+" up --addr 127.0.0.1:0").stderr.await(t, upstreamsStarted)
	p := start(t, home, run+" stdio </dev/null")
	if code := p.end(t); code != 0 || !strings.Contains(p.stderr.String(), "connected to the running host") {
		t.Errorf("got %d, %s, want the running host", code, p.stderr.String())
	}
}

func TestStdioEndsWithTheRunningHost(t *testing.T) {
	t.Parallel()
	host, home := startShared(t)
	stdin, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	p := startWith(t, home, stdin, "env XDG_RUNTIME_DIR="+home+"/run "+program(t)+" stdio --config mcp.json")
	p.stderr.await(t, `connected to the running host with process ID \d+`)
	host.signal(t, syscall.SIGTERM)
	if code := p.end(t); code != 4 || !strings.Contains(p.stderr.String(), "the connection to the running host has ended") {
		t.Errorf("got %d, %s, want to hear of the end", code, p.stderr.String())
	}
}

func TestStdioAnswersWhatAPipelineHasSent(t *testing.T) {
	t.Parallel()
	_, home := startShared(t)
	p := start(t, home, `printf '{"jsonrpc":"2.0","id":7,"method":"ping"}\n' | env XDG_RUNTIME_DIR=`+home+`/run `+program(t)+" stdio --config mcp.json")
	if code := p.end(t); code != 0 || !strings.Contains(p.stdout.String(), `"id":7`) || !strings.Contains(p.stderr.String(), "running host") {
		t.Errorf("got %d, %q, %s, want the answer of the running host", code, p.stdout.String(), p.stderr.String())
	}
}

func TestStdioEndsAtASignal(t *testing.T) {
	t.Parallel()
	_, home := startShared(t)
	stdin, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	p := startWith(t, home, stdin, "env XDG_RUNTIME_DIR="+home+"/run "+program(t)+" stdio --config mcp.json")
	p.stderr.await(t, `connected to the running host`)
	if code := p.signal(t, syscall.SIGTERM); code != 130 {
		t.Errorf("got %d, %s, want 130", code, p.stderr.String())
	}
}

// A session of the client passes through whole: notifications of the server that belong to
// no call, and cancellations.
func TestStdioKeepsTheSessionWhole(t *testing.T) {
	t.Parallel()
	_, home := startShared(t)
	changed := make(chan struct{}, 8)
	c := overStdio(t, home, mcp.V20251125, &mcpclient.Options{OnToolsChanged: func(context.Context, *mcpclient.Client) { changed <- struct{}{} }})
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan error, 1)
	go func() {
		_, err := c.Call[string](ctx, "one__hold", nil)
		held <- err
	}()
	cancel()
	if err := <-held; err == nil {
		t.Error("the cancelled call has succeeded")
	}
	content := fmt.Sprintf(`{"mcpServers": {"two": {"command": %q, "env": {%q: "upstream"}}}}`, program(t), role)
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	<-changed
}

// The calls run for the ten seconds that they have.
func TestStdioSaysWhatItHasNotAnswered(t *testing.T) {
	t.Parallel()
	const info = `"clientInfo":{"name":"x","version":"1"}`
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` + info + `}}\n` +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}\n` + `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__hold","arguments":{}}}\n`
		if revision.Stateless() {
			requests = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__hold","arguments":{},"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}\n`
		}
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, a host is running: %v", revision, running), func(t *testing.T) {
				t.Parallel()
				_, home := startShared(t)
				directory := home + "/run"
				if !running {
					directory = t.TempDir()
				}
				p := start(t, home, `printf '`+requests+`' | env XDG_RUNTIME_DIR=`+directory+` `+program(t)+" stdio --yes --config mcp.json")
				code := p.end(t)
				if joined := strings.Contains(p.stderr.String(), "connected to the running host"); joined != running {
					t.Errorf("got %s, want a running host: %v", p.stderr.String(), running)
				}
				if want := "a request was not answered within 10s after the end of the input"; code != 1 || !strings.Contains(p.stderr.String(), want) || strings.Contains(p.stdout.String(), `"id":7`) {
					t.Errorf("got exit code %d, %q, %s, want 1 and %q", code, p.stdout.String(), p.stderr.String(), want)
				}
			})
		}
	}
}
