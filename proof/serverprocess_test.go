package proof

import (
	"bufio"
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// serveVariable makes a copy of this test program a server: over "stdio" or over "http".
const serveVariable = "FONDACO_PROOF_SERVE"

// These variables set the idle timeout of its sessions, and how long their ids are valid, if
// not the defaults.
const (
	idleVariable = "FONDACO_PROOF_IDLE"
	lifeVariable = "FONDACO_PROOF_LIFE"
)

// upstreamVariable makes a copy of this test program the hostile server of that name.
const upstreamVariable = "FONDACO_PROOF_UPSTREAM"

// hostileServers are the servers that a host starts, by name.
var hostileServers = make(map[string]func() *mcpserver.Server)

func TestMain(m *testing.M) {
	switch os.Getenv(serveVariable) {
	case "stdio":
		exit(newServer().Run(context.Background()))
	case "http":
		exit(serveHTTP())
	}
	if serve := hostileServers[os.Getenv(upstreamVariable)]; serve != nil {
		exit(serve().Run(context.Background()))
	}
	mcptest.Main(m)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func newServer() *mcpserver.Server {
	idle, _ := time.ParseDuration(os.Getenv(idleVariable))
	life, _ := time.ParseDuration(os.Getenv(lifeVariable))
	s := mcptest.NewServer(&mcpserver.Options{
		Logger: slog.New(slog.DiscardHandler),
		HTTP:   &mcpserver.HTTPOptions{SessionIdle: idle, SessionLife: life},
	})
	s.Tool("die", "Kills the process", func(context.Context, struct{}) (string, error) {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return "", err
		}
		return "", self.Kill()
	})
	s.Tool("much", "Says more than a connection holds", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("x", 2<<20), nil
	})
	return s
}

// serveHTTP serves until standard input ends, which happens when the parent ends.
func serveHTTP() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := newServer()
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.HTTPHandler())
	mux.Handle("/sse", s.EventStreamHandler())
	mux.HandleFunc("/bare", bare)
	mux.HandleFunc("/holdings", func(w http.ResponseWriter, _ *http.Request) { _ = json.MarshalWrite(w, measure()) })
	fmt.Println(listener.Addr())
	return s.ServeListener(ctx, listener, mux)
}

// bare is an idle stream of net/http, to measure the least cost of a stream.
func bare(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// resources are those of a process that must not grow.
type resources struct {
	Heap        int64 // bytes in use after a collection
	Resident    int64 // bytes
	Goroutines  int
	Descriptors int
	Children    int
}

func (h resources) String() string {
	return fmt.Sprintf("heap %.1f MiB, resident %.0f MiB, %d goroutines, %d descriptors, %d children",
		mebibytes(h.Heap), mebibytes(h.Resident), h.Goroutines, h.Descriptors, h.Children)
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// measure returns the resources of this process. Values that the system does not report
// are 0.
func measure() resources {
	runtime.GC()         // runs finalizers,
	debug.FreeOSMemory() // and frees what they have released
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	h := resources{Heap: int64(memory.HeapAlloc), Goroutines: runtime.NumGoroutine()}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.Descriptors = len(open)
	}
	h.Resident = resident()
	h.Children = children()
	return h
}

func resident() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n << 10
}

// children counts the child processes, including those that have ended and were not
// waited for.
func children() (n int) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		list, _ := os.ReadFile("/proc/self/task/" + thread.Name() + "/children")
		n += len(strings.Fields(string(list)))
	}
	return n
}

// A child is a server in a process of its own.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	addr string // over HTTP
}

func startChild(t testing.TB, kind string, env ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(self)}
	c.cmd.Env = append(os.Environ(), append(env, serveVariable+"="+kind)...)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if kind == "http" {
		addr, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatalf("the server does not start: %v", err)
		}
		c.addr = strings.TrimSpace(addr)
	}
	return c
}

// end closes the standard input of the child, which must then exit. It may report a
// broken connection, but not a panic.
func (c *child) end(t testing.TB) {
	t.Helper()
	_ = c.in.Close()
	timer := time.AfterFunc(replyTimeout, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, c.out)
	if err := c.cmd.Wait(); err != nil && c.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the server ended with %v", err)
	}
}

// holdings asks a child over HTTP for its resources.
func (c *child) holdings(t testing.TB) (h resources) {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: replyTimeout}
	resp, err := web.Get("http://" + c.addr + "/holdings")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.UnmarshalRead(resp.Body, &h); err != nil {
		t.Fatal(err)
	}
	return h
}
