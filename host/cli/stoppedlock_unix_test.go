//go:build unix && !race

package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func init() {
	if os.Getenv(role) == "locks" {
		holdLocks(os.Args[1:])
	}
}

// holdLocks locks the files that its arguments name, and stops: a process that was suspended
// at the wrong moment.
func holdLocks(paths []string) {
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer f.Close()
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	os.Exit(0)
}

// stopWithLocks starts a process that holds every lock below a directory of state, and waits
// until it has stopped.
func stopWithLocks(t *testing.T, state string) {
	t.Helper()
	var locks []string
	for _, name := range []string{"state/.lock", "approvals/.lock", "audit.jsonl.lock", "user.key.lock"} {
		path := filepath.Join(state, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		locks = append(locks, path)
	}
	tokens, err := filepath.Glob(filepath.Join(state, "tokens", "*.lock"))
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(program(t), append(locks, tokens...)...)
	holder.Env = append(os.Environ(), role+"=locks")
	holder.Stderr = os.Stderr
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	})
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(holder.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("got %v, %v, want the process stopped", status, err)
	}
}

func TestStoppedProcessThatHoldsEveryLockHangsNothing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	state := filepath.Join(home, ".local", "state", "fondaco")
	configureOne(t, filepath.Join(home, "mcp.json"), "good")
	if output, code := command(t, home, "approve good --yes --config mcp.json"); code != 0 {
		t.Fatal(output)
	}
	stopWithLocks(t, state)

	host := start(t, home, "env XDG_RUNTIME_DIR="+home+"/run "+program(t)+" up --addr 127.0.0.1:0 --config mcp.json")
	base := "http://" + host.stderr.await(t, `(?m)^LISTEN (\S+)$`)[1]
	response, err := http.Get(base + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("got %s, want 200", response.Status)
	}
	var all sync.WaitGroup
	const locked = "another process has held the lock for"
	for words, reason := range map[string]string{
		"call good/pid --timeout 20s --url " + base + "/mcp": "", "call good/pid --timeout 1s --config mcp.json": "",
		"stdio --config mcp.json </dev/null": "", "auth status --config mcp.json": "",
		"revoke ada": locked, "approve good --yes --config mcp.json": locked, "audit verify": locked,
	} {
		p := start(t, home, "env XDG_RUNTIME_DIR="+home+"/elsewhere "+program(t)+" "+words)
		all.Go(func() {
			if code, said := p.end(t), p.stderr.String(); code < 0 || !strings.Contains(said, reason) {
				t.Errorf("%s: got exit code %d, %s, want an end by itself and %q", words, code, said, reason)
			}
		})
	}
	all.Wait()
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := host.end(t); code != 0 {
		t.Errorf("up: got exit code %d, want 0\n%s", code, host.stderr.String())
	}
}
