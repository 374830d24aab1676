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

// serveVariable tells a copy of this test program to be a server: over "stdio" or
// over "http".
const serveVariable = "FONDACO_PROOF_SERVE"

// idleVariable says how long its sessions may be idle, if not as long as usual.
const idleVariable = "FONDACO_PROOF_IDLE"

func TestMain(m *testing.M) {
	switch os.Getenv(serveVariable) {
	case "stdio":
		exit(newServer().Run(context.Background()))
	case "http":
		exit(serveHTTP())
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
	s := mcptest.NewServer(&mcpserver.Options{
		Logger: slog.New(slog.DiscardHandler),
		HTTP:   &mcpserver.HTTPOptions{SessionIdle: idle},
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

// serveHTTP serves until standard input ends, which it does with the parent.
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

// bare is a stream of net/http on which nothing is said: what one costs at least.
func bare(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// holdings are what a process has of what it may not pile up.
type holdings struct {
	Heap        int64 // bytes in use after a collection
	Resident    int64 // bytes
	Goroutines  int
	Descriptors int
	Children    int
}

func (h holdings) String() string {
	return fmt.Sprintf("heap %.1f MiB, resident %.0f MiB, %d goroutines, %d descriptors, %d children",
		mebibytes(h.Heap), mebibytes(h.Resident), h.Goroutines, h.Descriptors, h.Children)
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// measure tells what this process has. What is not known on this system is 0.
func measure() holdings {
	runtime.GC()         // runs what is to run when objects are gone,
	debug.FreeOSMemory() // and what that has set free
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	h := holdings{Heap: int64(memory.HeapAlloc), Goroutines: runtime.NumGoroutine()}
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

// children counts the processes whose parent this is, also those that have ended
// and that nobody waited for.
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

// end closes the standard input of the child, which has to leave by itself. It may
// say that its last connection was no good, and may not have panicked.
func (c *child) end(t testing.TB) {
	t.Helper()
	_ = c.in.Close()
	timer := time.AfterFunc(20*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, c.out)
	if err := c.cmd.Wait(); err != nil && c.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the server ended with %v", err)
	}
}

// holdings asks a child over HTTP for what it has.
func (c *child) holdings(t testing.TB) (h holdings) {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
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
