//go:build unix

package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	// honest is a server as it should be.
	roles["honest"] = func() { mcpserver.Main(process(nil)) }
	// legacy is one that knows sessions alone.
	roles["legacy"] = func() {
		mcpserver.Main(process(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}}))
	}
	// silent says something on standard error, and answers nothing.
	roles["silent"] = func() {
		fmt.Fprintln(os.Stderr, "downloading with the token 12345")
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	// noisy prints what is no message: many lines, or one that is too long.
	roles["noisy"] = func() {
		out := mustDup(syscall.Stdout)
		srv := process(nil)
		srv.Tool("garbage", "Print garbage", func(context.Context, struct{}) (string, error) {
			for range 30 {
				_, _ = syscall.Write(out, []byte("no message at all\n"))
			}
			return "printed", nil
		})
		srv.Tool("shout", "Print 20 MiB", func(context.Context, struct{}) (string, error) {
			_, _ = fmt.Fprintln(os.NewFile(uintptr(out), ""), strings.Repeat("x", 20<<20))
			return "shouted", nil
		})
		mcpserver.Main(srv) // standard output is the server's own from now on
	}
	// hasty dies as soon as it is started.
	roles["hasty"] = func() {
		fmt.Fprintln(os.Stderr, "DATABASE_URL is not set")
		os.Exit(3)
	}
	// host starts a server, tells its number and waits to be killed.
	roles["host"] = func() {
		g := gateway.New([]host.Upstream{child("c", "honest")}, &gateway.Options{Logger: quiet, StartTimeout: testTimeout})
		g.Start(context.Background())
		c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
		if err != nil {
			panic(err)
		}
		pid, err := c.Call[int](context.Background(), "c__pid", nil)
		fmt.Println(pid, err)
		time.Sleep(time.Hour)
	}
}

func mustDup(file int) int {
	duplicate, err := syscall.Dup(file)
	if err != nil {
		panic(err)
	}
	return duplicate
}

// process is a server that runs in a process of its own.
func process(o *mcpserver.Options) *mcpserver.Server {
	if o == nil {
		o = new(mcpserver.Options)
	}
	o.Logger = quiet
	srv := mcpserver.New("process", "1", o)
	srv.Tool("pid", "Tell the number of the process", func(context.Context, struct{}) (int, error) { return os.Getpid(), nil })
	srv.Tool("die", "Die", func(context.Context, struct{}) (string, error) {
		fmt.Fprintln(os.Stderr, "I was asked to die")
		os.Exit(4)
		return "", nil
	})
	return srv
}

func child(key, as string) host.Upstream {
	t := mcpclient.Command(os.Args[0])
	t.Env = map[string]string{role: as}
	return host.Upstream{Key: key, Target: t, Transport: "over stdio"}
}

// shared is a child that all callers share.
func shared(key, as string) host.Upstream {
	u := child(key, as)
	u.Settings.Share = true
	return u
}

// runs reports whether a process runs. One that is dead, and that nobody has
// waited for yet, does not.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return syscall.Kill(pid, 0) == nil && (err != nil || !strings.HasPrefix(state, "Z"))
}

func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); runs(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// awaitStop waits until all threads of a process have stopped.
func awaitStop(t *testing.T, pid int) {
	t.Helper()
	runs := func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		return slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path)
			_, state, _ := strings.Cut(string(stat), ") ")
			return err == nil && !strings.HasPrefix(state, "T")
		})
	}
	for deadline := time.Now().Add(testTimeout); runs(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// await waits until an upstream is in one of the states.
func await(t *testing.T, g *gateway.Gateway, key string, states ...host.State) host.Status {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(5 * time.Millisecond) {
		for _, s := range g.Status() {
			if s.Key == key && slices.Contains(states, s.State) {
				return s
			}
			if s.Key == key && time.Now().After(deadline) {
				t.Fatalf("got %+v, want it in %v", s, states)
			}
		}
	}
}

func pidOf(t *testing.T, c *mcpclient.Client, tool string) int {
	t.Helper()
	pid, err := c.Call[int](t.Context(), tool, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestEachSessionHasAProcessOfItsOwn(t *testing.T) {
	t.Parallel()
	g, _ := open(t, nil, child("c", "honest"), shared("s", "honest"))
	connect := func() *mcpclient.Client {
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20250618}, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one, two := connect(), connect()
	pid := pidOf(t, one, "c__pid")
	if again, other := pidOf(t, one, "c__pid"), pidOf(t, two, "c__pid"); again != pid || other == pid {
		t.Errorf("got processes %d, %d and %d, want one for each session", pid, again, other)
	}
	if one, other := pidOf(t, one, "s__pid"), pidOf(t, two, "s__pid"); one != other {
		t.Errorf("got processes %d and %d, want one for all that share", one, other)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	awaitEnd(t, pid)
	if err := two.Close(); err != nil {
		t.Error(err)
	}
}

// Whatever happens to one upstream, calls to the others are answered meanwhile.
func TestFailingUpstreamAffectsNoOther(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	g, c := open(t, nil,
		shared("good", "honest"), shared("killed", "legacy"), shared("stopped", "legacy"), shared("chatty", "noisy"),
		shared("loud", "noisy"), shared("hasty", "hasty"),
		host.Upstream{Key: "missing", Target: mcpclient.Command("no-such-program")})

	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	work.Go(func() {
		for ctx.Err() == nil {
			if _, err := c.CallTool(ctx, "good__pid", nil); err != nil && ctx.Err() == nil {
				t.Errorf("good: %v", err)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})

	killed := pidOf(t, c, "killed__pid")
	_ = syscall.Kill(killed, syscall.SIGKILL)
	awaitEnd(t, killed)
	_, _ = c.CallTool(ctx, "killed__pid", nil) // the first one may come before the death is known
	if again := pidOf(t, c, "killed__pid"); again == killed {
		t.Errorf("got process %d, want another", again)
	}

	stopped := pidOf(t, c, "stopped__pid")
	_ = syscall.Kill(stopped, syscall.SIGSTOP)
	awaitStop(t, stopped)
	hung, end := context.WithCancel(ctx)
	answer := make(chan error, 1)
	go func() {
		_, err := c.CallTool(hung, "stopped__pid", nil)
		answer <- err
	}()
	for range 50 {
		pidOf(t, c, "good__pid")
	}
	end()
	if err := <-answer; err == nil {
		t.Error("got an answer of a process that is stopped")
	}
	_ = syscall.Kill(stopped, syscall.SIGCONT)
	if again := pidOf(t, c, "stopped__pid"); again != stopped {
		t.Errorf("got process %d, want %d to go on", again, stopped)
	}

	if got, err := c.Call[string](ctx, "chatty__garbage", nil); got != "printed" || err != nil {
		t.Errorf("got %q, %v, want lines that are no messages to be skipped", got, err)
	}
	if got, err := c.Call[string](ctx, "loud__shout", nil); got != "shouted" || err != nil {
		t.Errorf("got %q, %v, want a line that is too long to be skipped", got, err)
	}
	for tool, want := range map[string]string{"killed__die": "exited with status 4"} {
		result, err := c.CallTool(ctx, tool, nil)
		if err != nil {
			t.Errorf("%s: %v", tool, err)
		} else if got := result.Content.Text(); !result.IsError || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want a failure: %s", tool, got, want)
		}
	}
	for _, key := range []string{"chatty", "loud", "killed"} {
		await(t, g, key, host.Ready)
	}
	s := await(t, g, "hasty", host.Failed, host.Suspended) // after some failures
	if !strings.Contains(s.Reason, "the server exited with status 3 before answering initialize: DATABASE_URL is not set") || len(s.Stderr) == 0 || s.Stderr[0] != "DATABASE_URL is not set" {
		t.Errorf("got %+v, want its reason and its last words", s)
	}
	if s := await(t, g, "missing", host.Failed, host.Suspended); !strings.Contains(s.Reason, "no-such-program") {
		t.Errorf("got %+v, want its reason", s)
	}
}

func TestChildrenExitWithTheirHost(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells children of the death of their host; elsewhere they see the end of their input")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=host")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(line)[0])
	if err != nil || !runs(pid) {
		t.Fatalf("got %q, want the number of a process that runs", line)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	awaitEnd(t, pid)
}

// Nothing is left of processes that were started and stopped: no process, dead
// or alive, no descriptor, no goroutine.
func TestStartsAndStopsLeakNothing(t *testing.T) {
	cycles := 5
	if n, err := strconv.Atoi(os.Getenv("FONDACO_CYCLES")); err == nil {
		cycles = n
	}
	mark := filepath.Join(t.TempDir(), "mark")
	u := child("c", "honest")
	u.Target.(*mcpclient.CommandTarget).Args = []string{mark}
	g := gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, StartTimeout: testTimeout})
	defer g.Close()
	g.Start(t.Context())
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cycle := func() {
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		pidOf(t, c, "c__pid")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	pidOf(t, c, "c__pid")
	settle(t, g)
	descriptors, routines := openFiles(t), runtime.NumGoroutine()
	for range cycles {
		cycle()
	}
	settle(t, g)
	for deadline := time.Now().Add(testTimeout); openFiles(t) > descriptors || runtime.NumGoroutine() > routines; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %d descriptors and %d goroutines after %d cycles, want %d and %d", openFiles(t), runtime.NumGoroutine(), cycles, descriptors, routines)
		}
	}
	if n := marked(t, mark); n != 2 {
		t.Errorf("got %d processes, want that of the shared connection and that of the one caller", n)
	}
	g.Close()
	if n := marked(t, mark); n != 0 {
		t.Errorf("got %d processes after the end, want none", n)
	}
}

// settle waits until only one caller has a connection.
func settle(t *testing.T, g *gateway.Gateway) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); g.Status()[0].Callers > 1; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, want one caller left", g.Status()[0])
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// marked counts the processes that have the mark as an argument, dead ones too.
func marked(t *testing.T, mark string) (n int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are not counted here")
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), mark) {
			n++
		}
	}
	return n
}

// The state of a program has the number of its processes, and that of another server has none.
func TestStateCountsTheProcessesOfAProgram(t *testing.T) {
	t.Parallel()
	g := gateway.New([]host.Upstream{child("c", "legacy"), upstream("near", newServer("near"))}, &gateway.Options{Logger: quiet, StartTimeout: testTimeout})
	defer g.Close()
	g.Start(t.Context())
	want := func(processes int) {
		t.Helper()
		for deadline := time.Now().Add(testTimeout); g.Status()[0].Processes != processes; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("got %d processes, want %d", g.Status()[0].Processes, processes)
			}
		}
	}
	want(1)
	for i := range 2 {
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if want(1 + i); !slices.Contains(toolNames(t, c), "c__pid") {
			t.Error("want the tools listed")
		}
		want(1 + i) // a list needs no process of the caller's own
		pid := pidOf(t, c, "c__pid")
		if want(2 + i); !slices.Contains(g.Status()[0].ProcessIDs, pid) {
			t.Errorf("got the processes %v, want %d among them", g.Status()[0].ProcessIDs, pid)
		}
		if i == 1 {
			c.Close()
			want(2)
		}
	}
	if got := g.Status()[1].Processes; got != 0 {
		t.Errorf("got %d processes of a server in this process, want none", got)
	}
}

func init() {
	// counted is a server of the session era that notes its start in the file that its argument names.
	roles["counted"] = func() {
		f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, os.Getpid())
		_ = f.Close()
		srv := process(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		srv.Tool("ask", "Ask the user", func(ctx context.Context, _ struct{}) (string, error) {
			who, err := mcpserver.Ask[greeting](ctx, "who", "Who?")
			return who.Name, err
		})
		mcpserver.Main(srv)
	}
}

// A program runs once for its lists, once more for each set of capabilities, and the process that has
// answered these lists is lent to the first caller. Before they call, callers have no process.
func TestProgramStartsOncePerCallerAtMost(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "starts")
	u := child("c", "counted")
	u.Target.(*mcpclient.CommandTarget).Args = []string{file}
	g := gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, StartTimeout: testTimeout})
	defer g.Close()
	g.Start(t.Context())
	started := func() int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	want := func(what string, starts, processes int) {
		t.Helper()
		for deadline := time.Now().Add(testTimeout); started() != starts || g.Status()[0].Processes != processes; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: got %d starts and %d processes, want %d and %d", what, started(), g.Status()[0].Processes, starts, processes)
			}
		}
	}
	roots := func(context.Context) ([]mcp.Root, error) { return nil, nil }
	elicit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"Ada"}`)}, nil
	}
	sets := []mcpclient.Options{{ElicitForm: elicit}, {ElicitForm: elicit, Roots: roots}, {ElicitForm: elicit, ElicitURL: elicit}}
	var clients []*mcpclient.Client
	for i, o := range sets {
		o.Revisions, o.Logger = []mcp.Revision{mcp.V20251125}, quiet
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
		toolNames(t, c)
		want("after a list", 2+i, 2+i)
	}
	seen := make(map[int]bool)
	for i, c := range clients {
		if seen[pidOf(t, c, "c__pid")] = true; len(seen) != i+1 {
			t.Error("two callers have the same process")
		}
		if got, err := c.Call[string](t.Context(), "c__ask", nil); got != "Ada" || err != nil {
			t.Errorf("got %q, %v, want the caller asked in the process that was lent to it", got, err)
		}
	}
	want("after calls", 4, 4)
	again, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{ElicitForm: elicit, Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	toolNames(t, again)
	want("after a list of one more client with known capabilities", 4, 4)
	if pid := pidOf(t, again, "c__pid"); seen[pid] {
		t.Errorf("got process %d of another caller", pid)
	}
	want("after its call", 5, 5)
	again.Close()
	want("after its end", 5, 4)
	clients[0].Close()
	want("after the end of the caller that had the lent process", 5, 3)
}
