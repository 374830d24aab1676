package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcptest"
)

// binaries is the directory of the programs that the tests start.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binaries = dir
	for name, pkg := range map[string]string{"fixture": "./fixture"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
			return 1
		}
	}
	return m.Run()
}

func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not installed")
	}
}

// process is a program that runs until the test ends.
type process struct {
	addr string // that it said it listens on
}

// start runs a program until the test ends, and waits for the line LISTEN on its
// standard error, or for its port to take connections.
func start(t *testing.T, port string, env []string, name string, args ...string) process {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			select {
			case lines <- s.Text():
			default:
			}
		}
		close(lines)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if port != "" {
		awaitPort(t, port)
		return process{"127.0.0.1:" + port}
	}
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("%s %v ended before it was ready", name, args)
			}
			if addr, found := strings.CutPrefix(line, "LISTEN "); found {
				return process{addr}
			}
		case <-deadline:
			t.Fatalf("%s %v was not ready in time", name, args)
		}
	}
}

func awaitPort(t *testing.T, port string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			return
		}
	}
	t.Fatalf("nothing listens on port %s", port)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// serveFixture serves the fixture over HTTP and returns its address.
func serveFixture(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		done <- mcptest.NewServer(nil).ListenAndServe(ctx, "127.0.0.1:0", func(a net.Addr) { ready <- a })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return (<-ready).String()
}

// plan says what client.mjs is to do.
type plan map[string]any

// outcome is what client.mjs prints.
type outcome struct {
	Error     string         `json:"error"`
	Version   string         `json:"version"`
	Tools     []string       `json:"tools"`
	Resources []string       `json:"resources"`
	Templates []string       `json:"templates"`
	Prompts   []string       `json:"prompts"`
	Steps     map[string]any `json:"steps"`
}

// foreignClient lets a TypeScript client do the plan.
func foreignClient(t *testing.T, sdk, target string, p plan) outcome {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "node", "client.mjs", sdk, target, string(text))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("node client.mjs %s %s: %v\n%s", sdk, target, err, stderr.Bytes())
	}
	var out outcome
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("node client.mjs %s %s printed %s: %v", sdk, target, stdout.Bytes(), err)
	}
	if out.Error != "" {
		t.Fatalf("client %s of %s: %s", sdk, target, out.Error)
	}
	return out
}
