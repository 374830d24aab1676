//go:build (hostile || load) && unix

package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A hostUser is a user with a home directory of their own and the fondaco program.
type hostUser struct {
	t    *testing.T
	home string
	env  []string
}

// newHostUser returns a user with an empty home.
func newHostUser(t *testing.T) *hostUser {
	t.Helper()
	home := t.TempDir()
	run := filepath.Join(home, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	return &hostUser{t, home, []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		"FONDACO_USER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	}}
}

// fondaco returns the path of the program, which is built once.
var fondaco = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fondaco-proof")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "fondaco")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "github.com/fondaco/fondaco/cmd/fondaco")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return path, nil
})

// write writes a file below the home, and returns its path.
func (u *hostUser) write(name, content string) string {
	u.t.Helper()
	path := filepath.Join(u.home, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		u.t.Fatal(err)
	}
	return path
}

// server returns the entry of a configuration for a hostile server, with further members
// such as `"fondaco": {"share": true}`.
func (u *hostUser) server(name string, members ...string) string {
	if hostileServers[name] == nil {
		u.t.Fatalf("there is no hostile server %q", name)
	}
	return fmt.Sprintf(`{"command": %q, "env": {%q: %q}%s}`, os.Args[0], upstreamVariable, name, strings.Join(append([]string{""}, members...), ", "))
}

// command returns a run of the program in the home directory.
func (u *hostUser) command(ctx context.Context, args ...string) *exec.Cmd {
	u.t.Helper()
	path, err := fondaco()
	if err != nil {
		u.t.Fatal(err)
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Dir, c.Env, c.WaitDelay = u.home, u.env, 5*time.Second
	return c
}

// run runs the program for up to replyTimeout. Its exit code is -1 if it was killed then.
func (u *hostUser) run(args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), replyTimeout)
	defer cancel()
	var out, messages bytes.Buffer
	c := u.command(ctx, args...)
	c.Stdout, c.Stderr = &out, &messages
	if err := c.Run(); err != nil && c.ProcessState == nil {
		u.t.Fatal(err)
	}
	return out.String(), messages.String(), c.ProcessState.ExitCode()
}

// A runningHost is a fondaco up that ends with the test.
type runningHost struct {
	t       *testing.T
	process *exec.Cmd
	url     string // of the MCP endpoint
	stderr  hostOutput
}

// up starts a host on any port and waits until it accepts connections.
func (u *hostUser) up(args ...string) *runningHost {
	u.t.Helper()
	h := &runningHost{t: u.t, process: u.command(context.Background(), append([]string{"up", "--addr", "127.0.0.1:0"}, args...)...)}
	h.process.Stderr = &h.stderr
	if err := h.process.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(h.end)
	h.url = "http://" + h.await(`(?m)^LISTEN (\S+)$`)[1] + "/mcp"
	return h
}

// end interrupts the host and waits for its end.
func (h *runningHost) end() {
	if h.process.ProcessState != nil {
		return
	}
	_ = h.process.Process.Signal(os.Interrupt)
	kill := time.AfterFunc(replyTimeout, func() { _ = h.process.Process.Kill() })
	defer kill.Stop()
	_ = h.process.Wait()
}

// await waits until the host has printed a match of a pattern, and
// returns it with its groups.
func (h *runningHost) await(pattern string) []string {
	h.t.Helper()
	expression := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(replyTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found := expression.FindStringSubmatch(h.stderr.String()); found != nil {
			return found
		}
	}
	h.t.Fatalf("the host printed\n%s\nwant %s", h.stderr.String(), pattern)
	return nil
}

// connect returns a client of the host.
func (h *runningHost) connect(o *mcpclient.Options) *mcpclient.Client {
	h.t.Helper()
	c, err := mcpclient.Connect(h.t.Context(), mcpclient.URL(h.url), o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	return c
}

// hostOutput collects what a process prints.
type hostOutput struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *hostOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *hostOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// A countingListener accepts connections, counts them and keeps what they send: nothing, if
// the host keeps what belongs to it.
type countingListener struct {
	net.Listener
	received hostOutput
}

// listenForLeaks returns a listener on loopback that answers nothing.
func listenForLeaks(t *testing.T) *countingListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &countingListener{Listener: l}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.received.Write([]byte("connection\n"))
			work.Go(func() {
				defer conn.Close()
				_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
				_, _ = io.Copy(&c.received, io.LimitReader(conn, 1<<20))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	return c
}

// must fails the test if one of its errors is not nil.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Each host and each user of an attack is separate; here they are shown to work.
func TestHostOfTheAttacksServes(t *testing.T) {
	u := newHostUser(t)
	config := u.write(".config/fondaco/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`)
	h := u.up("--config", config, "--yes")
	h.await(`plain +ready`)
	got, err := h.connect(nil).Call[string](t.Context(), "plain__greet", nil)
	if err != nil || got != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	if out, messages, code := u.run("tools", "--url", h.url); code != 0 || !strings.Contains(out, "plain/greet") {
		t.Errorf("got %d\n%s%s", code, out, messages)
	}
}

func init() {
	hostileServers["plain"] = func() *mcpserver.Server {
		s := newServer()
		s.Tool("greet", "Greet", func(context.Context, struct{}) (string, error) { return "hello", nil })
		s.Prompt("hail", "Hail", func(context.Context, struct{}) ([]mcp.PromptMessage, error) {
			return []mcp.PromptMessage{mcpserver.UserMessage("hail")}, nil
		})
		s.Resource("plain://one", "one", "text/plain", func(context.Context) ([]byte, error) { return []byte("plain"), nil })
		s.Template("plain://of/{name}", "named", "text/plain", func(context.Context, struct {
			Name string `json:"name"`
		},
		) ([]byte, error) {
			return []byte("plain"), nil
		})
		return s
	}
}
