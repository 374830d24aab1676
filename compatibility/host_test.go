package compatibility

import (
	"bufio"
	"encoding/json/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// An upstream is an entry of the configuration of a host.
type upstream struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Own     map[string]string `json:"fondaco,omitempty"` // the settings of the host
}

// hostCommand returns the command fondaco with a configuration, in a home of its own.
func hostCommand(t *testing.T, upstreams map[string]upstream, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, "mcp.json")
	config, err := json.Marshal(map[string]any{"mcpServers": upstreams})
	if err == nil {
		err = os.WriteFile(path, config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self(t), append(args, "--yes", "--config", path)...)
	cmd.Env = append(os.Environ(), roleVariable+"=fondaco",
		"HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_RUNTIME_DIR="+home)
	return cmd
}

// startHost starts "fondaco up" for the time of the test and returns its base URL.
func startHost(t *testing.T, upstreams map[string]upstream) (base string, log *transcript) {
	t.Helper()
	cmd := hostCommand(t, upstreams, "up", "--addr", "127.0.0.1:0")
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	words, listening := new(transcript), make(chan string, 1)
	var work sync.WaitGroup
	work.Go(func() {
		defer close(listening)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			words.add(lines.Text())
			if addr, ok := strings.CutPrefix(lines.Text(), "LISTEN "); ok {
				listening <- addr
			}
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(hangTime, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		work.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("fondaco up: %v\n%s", err, words)
		}
	})
	select {
	case addr, ok := <-listening:
		if ok {
			return "http://" + addr, words
		}
	case <-time.After(hangTime):
	}
	t.Fatalf("fondaco up does not listen:\n%s", words)
	return "", nil
}

// startStdioHost starts "fondaco stdio" for the time of the test and returns a client of it.
func startStdioHost(t *testing.T, upstreams map[string]upstream) *rawStream {
	t.Helper()
	cmd := hostCommand(t, upstreams, "stdio", "-q")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		late := time.AfterFunc(hangTime, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("fondaco stdio: %v", err)
		}
	})
	c := newRawStream(t, in, out)
	c.do(step{
		send: `{"jsonrpc":"2.0","id":"start","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		want: `{"id":"start","result":{"tools":[{},{},{},{},{},{}]}}`,
	})
	return c
}

// transcript is what a program has printed.
type transcript struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (w *transcript) add(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}

// await waits for a line with a text.
func (w *transcript) await(t *testing.T, text string) string {
	t.Helper()
	for deadline := time.Now().Add(hangTime); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		w.mu.Lock()
		i := slices.IndexFunc(w.lines, func(line string) bool { return strings.Contains(line, text) })
		if i >= 0 {
			defer w.mu.Unlock()
			return w.lines[i]
		}
		w.mu.Unlock()
	}
	t.Errorf("the host printed no line with %q", text)
	return ""
}
