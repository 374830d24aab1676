//go:build hostile && linux

package proof

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// hostMemory is the resident memory in MiB that docs/limits.md gives a host with one hostile
// server and little else.
const hostMemory = 256

// callerMemory is what callers with connections of their own to that server add, however many they
// are.
const callerMemory = 256

// resident returns the most resident memory that the host has had, in MiB.
func (h *runningHost) resident() int {
	h.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.process.Process.Pid))
	if err != nil {
		h.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, _ := strconv.Atoi(strings.Fields(rest)[0])
	return kib >> 10
}

// A failure here means that one server, or one client, takes from the others what the host has:
// their lists, its memory, its connections.
func TestHostAttacksLimits(t *testing.T) {
	whole := plainSurfaceAlone(t)
	for _, attack := range []struct{ server, does string }{
		{"large texts", "lists 18 tools with texts of 1 MiB"},
		{"large pages", "lists 60 pages of 8 MiB"},
		{"many prompts", "lists 60,000 prompts"},
		{"large resources", "lists 60 pages of resources with URIs of 50 KB"},
		{"endless pages", "lists pages without an end"},
		{"long instructions", "has instructions of 13 MiB"},
		{"large errors", "fails with texts of 9 MiB"},
		{"large links", "links to URIs of 6 MiB"},
		{"many links", "has 10,000 templates and links 100,000 times to what they may have"},
		{"large elicitations", "requires visits at URLs of 6 MiB"},
		{"restless", "changes 400 tools all the time"},
	} {
		t.Run("a server "+attack.does, func(t *testing.T) {
			u := newHostUser(t)
			config := u.write(".config/fondaco/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`, "greedy": `+u.server(attack.server)+`}}`)
			h := u.up("--config", config, "--yes")
			h.await(`plain +ready`)
			c := h.connect(&mcpclient.Options{ElicitURL: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			}})
			slowest := time.Duration(0)
			for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				began := time.Now()
				if got, err := c.Call[string](t.Context(), "plain__greet", nil); err != nil || got != "hello" {
					t.Fatalf("got %q, %v, want the other server's tool called", got, err)
				}
				slowest = max(slowest, time.Since(began))
				usePlain(t, c)
				result, err := c.CallTool(t.Context(), "greedy__do", nil)
				if attack.server == "many links" && (err != nil || len(result.Content) != 100_000) {
					t.Fatalf("got %.200v, %v, want the links", result, err)
				}
			}
			surface, bytes := plainSurface(t, c)
			if surface != whole {
				t.Errorf("got of the other server\n%s\nwant\n%s", surface, whole)
			}
			if bytes > 10<<20 {
				t.Errorf("got %d bytes of tools, want at most the 8 MiB of one server", bytes)
			}
			for path, size := range filesOf(t, u.home) {
				if size > 1<<20+4<<10 { // a value of the store, with its seal
					t.Errorf("%s has %d bytes, want at most 1 MiB", path, size)
				}
			}
			if used := h.resident(); used > hostMemory {
				t.Errorf("the host has used %d MiB, want at most %d", used, hostMemory)
			}
			t.Attr("verdict", fmt.Sprintf("limits: a server %s: host %d MiB at most, slowest call of the other server %s", attack.does, h.resident(), slowest))
		})
	}
	t.Run("a server lists 8 MiB for each of 40 sessions", func(t *testing.T) { listsOfManySessions(t) })
	t.Run("a client of sixteen kinds makes calls that do not end", func(t *testing.T) { differentlyAbleClients(t) })
	const unsent = "Content-Length: 1000\r\n\r\n"
	for does, request := range map[string]string{
		"send nothing":                            "",
		"announce a body without a token":         "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + unsent,
		"announce a body with a bad token":        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bad\r\n" + unsent,
		"announce a body with the name of a page": "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" + unsent,
		"announce a body for a route of no use":   "POST /nowhere HTTP/1.1\r\nHost: localhost\r\n" + unsent,
	} {
		t.Run("240 connections that "+does+", of 256 descriptors", func(t *testing.T) { idleStrangers(t, request) })
	}
}

// filesOf returns the sizes of the files below a directory, except sockets.
func filesOf(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	sizes := make(map[string]int64)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sizes[path] = info.Size()
		}
		return nil // it may have been replaced
	})
	if err != nil {
		t.Error(err)
	}
	return sizes
}

// callsOfOneOwner is how many calls of one owner a server of the session era gets at once in which it
// may ask, see docs/limits.md.
const callsOfOneOwner = 16

// differentlyAbleClients makes calls that do not end by one user in clients with all
// combinations of capabilities, and calls of the same server by another user.
func differentlyAbleClients(t *testing.T) {
	u := newHostUser(t)
	config := u.write(".config/fondaco/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`, "greedy": `+u.server("hanging")+`}}`)
	tokens := u.write("tokens", "eve:"+strings.Repeat("e", 30)+"\nbob:"+strings.Repeat("b", 30)+"\n")
	h := u.up("--config", config, "--yes", "--auth-tokens", tokens)
	h.await(`greedy +ready`)
	as := func(letter string, able int) *mcpclient.Client {
		o := &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}}
		o.HTTP.Header = map[string][]string{"Authorization": {"Bearer " + strings.Repeat(letter, 30)}}
		elicit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, mcpclient.ErrClosed }
		if able&1 != 0 {
			o.ElicitForm = elicit
		}
		if able&2 != 0 {
			o.ElicitURL = elicit
		}
		if able&4 != 0 {
			o.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
		}
		if able&8 != 0 {
			o.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return nil, mcpclient.ErrClosed
			}
		}
		return h.connect(o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for able := range 16 {
		c := as("e", able)
		for range 3 { // each with a process of its own
			calls.Go(func() { _, _ = c.CallTool(ctx, "greedy__do", nil, mcpclient.ManualInput()) })
		}
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		hanging, err := filepath.Glob(filepath.Join(u.home, hangingFiles))
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("got %d calls that do not end, %v, want %d", len(hanging), err, callsOfOneOwner)
		}
		if len(hanging) >= callsOfOneOwner {
			break
		}
	}
	for able := range 16 { // the same server, by another user
		if got, err := as("b", able).Call[string](t.Context(), "greedy__greet", nil); err != nil || got != "hello" {
			t.Errorf("capabilities %04b: got %q, %v, want another user served", able, got, err)
		}
	}
	cancel()
	calls.Wait()
}

// listsOfManySessions opens sessions with a server that announces other tools of 8 MiB to each.
func listsOfManySessions(t *testing.T) {
	var called sync.Map // of *mcpserver.Session
	s := greedyServer(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context) (mcp.Result, error) {
		session := mcpserver.From(ctx).Session()
		called.Store(session, true)
		session.ToolsChanged()
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("done")}}, nil
	})
	var reads, listed atomic.Int64
	s.Use(func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if _, ok := called.Load(r.Session()); !ok || r.Method() != mcp.MethodToolsList {
				return next(ctx, r)
			}
			return &mcp.ListToolsResult{Tools: toolsOf(fmt.Sprint("t", reads.Add(1), "_"), 140, 60_000)}, nil
		}
	})
	web := httptest.NewServer(s.HTTPHandler())
	defer web.Close()
	defer web.CloseClientConnections() // streams do not end by themselves
	u := newHostUser(t)
	config := u.write(".config/fondaco/mcp.json", fmt.Sprintf(`{"mcpServers": {"plain": %s, "greedy": {"url": %q, "fondaco": {"dynamic": true}}}}`, u.server("plain"), web.URL))
	h := u.up("--config", config, "--yes")
	h.await(`greedy +ready`)
	clients := make([]*mcpclient.Client, 40)
	for i := range clients {
		changed := sync.OnceFunc(func() { listed.Add(1) })
		clients[i] = h.connect(&mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, OnToolsChanged: func(context.Context, *mcpclient.Client) { changed() },
		})
	}
	var calls sync.WaitGroup
	for _, c := range clients {
		calls.Go(func() {
			if _, err := c.CallTool(t.Context(), "greedy__do", nil); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	for deadline := time.Now().Add(5 * time.Minute); listed.Load() < int64(len(clients)); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the host has read the lists of %d sessions, want all of %d", listed.Load(), len(clients))
		}
		if got, err := clients[0].Call[string](t.Context(), "plain__greet", nil); err != nil || got != "hello" {
			t.Fatalf("got %q, %v, want the other server's tool called", got, err)
		}
	}
	if used := h.resident(); used > hostMemory+callerMemory {
		t.Errorf("the host has used %d MiB, want at most %d", used, hostMemory+callerMemory)
	}
	t.Attr("verdict", fmt.Sprintf("limits: a server lists 8 MiB for each of %d sessions: %d reads, host %d MiB at most", len(clients), reads.Load(), h.resident()))
}

// idleStrangers opens connections that send a request, or nothing, and are kept open.
func idleStrangers(t *testing.T, request string) {
	u := newHostUser(t)
	config := u.write(".config/fondaco/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`)
	tokens := u.write("tokens", "bob:"+strings.Repeat("b", 30)+"\n")
	h := &runningHost{t: t, process: u.command(context.Background(), "up", "--addr", "127.0.0.1:0", "--config", config, "--yes", "--auth-tokens", tokens)}
	h.process.Args = append([]string{"sh", "-c", `ulimit -n 256; exec "$0" "$@"`, h.process.Path}, h.process.Args[1:]...)
	h.process.Path, h.process.Stderr = "/bin/sh", &h.stderr
	if err := h.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.end)
	h.url = "http://" + h.await(`(?m)^LISTEN (\S+)$`)[1] + "/mcp"
	h.await(`plain +ready`)
	addr := strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp")
	for range 240 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, request) // the host may have closed the connection
	}
	for range 5 {
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(h.url), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{
			Header: map[string][]string{"Authorization": {"Bearer " + strings.Repeat("b", 30)}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Call[string](t.Context(), "plain__greet", nil); err != nil || got != "hello" {
			t.Errorf("got %q, %v, want a user with a token served", got, err)
		}
		_ = c.Close()
	}
}
