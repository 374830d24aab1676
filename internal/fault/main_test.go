//go:build unix

package fault_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// role is the environment variable that selects what the test binary runs as a separate
// process.
const role = "FAULT_TEST_ROLE"

// roles are these programs.
var roles = make(map[string]func())

func TestMain(m *testing.M) {
	testdir.Prepare()
	if play, ok := roles[os.Getenv(role)]; ok {
		play()
		return
	}
	os.Exit(m.Run())
}

var quiet = slog.New(slog.DiscardHandler)

// variables returns the environment of a process with a role.
func variables(as string, more ...string) []string {
	return append(append(os.Environ(), role+"="+as, "GORACE=atexit_sleep_ms=0"), more...)
}

// command returns a stdio server with a role.
func command(as string, more ...string) *mcpclient.CommandTarget {
	t := mcpclient.Command(os.Args[0])
	t.Env = map[string]string{role: as, "GORACE": "atexit_sleep_ms=0"}
	for _, v := range more {
		name, value, _ := strings.Cut(v, "=")
		t.Env[name] = value
	}
	return t
}

// process is a process of a test that prints its address to standard error.
type process struct {
	*exec.Cmd
	addr string
	done chan error
}

// launch starts a process with a role, and waits until it listens.
func launch(t *testing.T, as string, more ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), done: make(chan error, 1)}
	p.Env = variables(as, more...)
	words, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(words)
	for p.addr == "" && lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "LISTEN "); ok {
			p.addr = addr
		}
	}
	go func() {
		for lines.Scan() {
			t.Log(lines.Text())
		}
		p.done <- p.Wait()
	}()
	t.Cleanup(func() { _ = p.kill(syscall.SIGKILL) })
	if p.addr == "" {
		t.Fatalf("%s does not listen", as)
	}
	return p
}

// kill sends a signal to the process, and waits if that ends it.
func (p *process) kill(s syscall.Signal) error {
	_ = p.Process.Signal(s)
	if s == syscall.SIGSTOP || s == syscall.SIGCONT {
		return nil
	}
	err := <-p.done
	p.done <- err
	return err
}

// connect connects until the end of the test.
func connect(t *testing.T, target mcpclient.Target, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	if o == nil {
		o = new(mcpclient.Options)
	}
	o.Logger = quiet
	c, err := mcpclient.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// eras returns options for a client of each era.
func eras() map[string]*mcpclient.Options {
	return map[string]*mcpclient.Options{
		"session":   {Revisions: []mcp.Revision{mcp.V20251125}},
		"stateless": {Revisions: []mcp.Revision{mcp.V20260728}},
	}
}

// resources are what a test must release.
type resources struct{ goroutines, descriptors, children int }

// descriptors returns the open descriptors of the process, if the system lists them.
func descriptors() (open []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			open = append(open, target)
		}
	}
	return open
}

func held() resources {
	children := 0
	if text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err == nil {
		children = len(strings.Fields(string(text)))
	}
	return resources{runtime.NumGoroutine(), len(descriptors()), children}
}

// patience limits waits for what never happens. It is long because a busy machine is slow.
const patience = 2 * time.Minute

func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so that %s", what)
		}
	}
}

// giveBack fails the test if it holds more resources at its end than now. Use it only in
// tests that run alone.
func giveBack(t *testing.T) {
	t.Helper()
	before := held()
	t.Cleanup(func() {
		var now resources
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			now = held()
			if now.goroutines <= before.goroutines+5 && now.descriptors <= before.descriptors && now.children <= before.children {
				return
			}
		}
		buf := make([]byte, 1<<20)
		t.Errorf("holds %+v, and %+v before: %q\n%s", now, before, descriptors(), buf[:runtime.Stack(buf, true)])
	})
}

// bigText is larger than the system's buffers of a connection.
const bigText = 14 << 20

// faulty is a server with tools for the tests. It runs in separate processes.
func faulty(o *mcpserver.Options) *mcpserver.Server {
	if o == nil {
		o = new(mcpserver.Options)
	}
	o.Logger = quiet
	var scarce, hanging atomic.Int64
	o.OnLimit = func(e mcp.LimitReached) {
		if e.Limit == mcp.LimitDescriptors {
			scarce.Add(1)
		}
	}
	srv := mcpserver.New("faulty", "1", o)
	srv.Tool("scarce", "Tell how often descriptors were scarce", func(context.Context, struct{}) (int64, error) { return scarce.Load(), nil }, mcpserver.ReadOnly())
	srv.Tool("pid", "Tell the number of the process", func(context.Context, struct{}) (int, error) { return os.Getpid(), nil }, mcpserver.ReadOnly())
	srv.Tool("echo", "Say it again", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (string, error) {
		return in.Text, nil
	}, mcpserver.ReadOnly())
	srv.Tool("append", "Add a line to the file", func(ctx context.Context, in struct {
		Line string `json:"line"`
	},
	) (string, error) {
		f, err := os.OpenFile(os.Getenv("FAULT_TEST_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, in.Line)
		return "added", err
	})
	srv.Tool("big", "Say much", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", bigText), nil })
	srv.Tool("rest", "Take a moment", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Progress(ctx, 1, 2, "resting")
		select {
		case <-time.After(300 * time.Millisecond):
			return "rested", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	srv.Tool("hang", "Wait until the call ends", func(ctx context.Context, _ struct{}) (string, error) {
		hanging.Add(1)
		defer hanging.Add(-1)
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	srv.Tool("hanging", "Tell how many calls hang", func(context.Context, struct{}) (int64, error) { return hanging.Load(), nil }, mcpserver.ReadOnly())
	srv.Tool("die", "Die", func(context.Context, struct{}) (string, error) {
		fmt.Fprintln(os.Stderr, "the disk is on fire")
		fmt.Fprintln(os.Stderr, "I was asked to die")
		os.Exit(4)
		return "", nil
	})
	return srv
}

func init() {
	roles["stdio"] = func() { mcpserver.Main(faulty(nil)) }
	roles["http"] = func() {
		os.Args = []string{os.Args[0], "-http", "127.0.0.1:0"}
		mcpserver.Main(faulty(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{
			LameDuck:     duration("FAULT_TEST_LAME_DUCK"),
			WriteTimeout: duration("FAULT_TEST_WRITE_TIMEOUT"),
		}}))
	}
}

// duration parses an environment variable; unset means zero.
func duration(name string) time.Duration {
	d, _ := time.ParseDuration(os.Getenv(name))
	return d
}

// pidOf asks a server for its process ID.
func pidOf(t *testing.T, c *mcpclient.Client, tool string) int {
	t.Helper()
	text, err := c.Call[string](t.Context(), tool, nil)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
