package testengine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
)

// starts is the engine of these tests: serveStarts in a child process.
var starts = testengine.Program{
	Command: func(addr, dir string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TESTENGINE_ADDR="+addr, "TESTENGINE_DIR="+dir)
		return cmd
	},
	URL: func(addr string) string { return "starts://" + addr },
}

// read returns everything that a server sends to a new connection.
func read(t *testing.T, addr string) (string, error) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	return string(text), err
}

func TestRestartedServerHasItsURLAndItsData(t *testing.T) {
	t.Parallel()
	s := testengine.Run(t, starts)
	addr, ok := strings.CutPrefix(s.URL, "starts://")
	if !ok {
		t.Fatalf("got URL %q, want one of the engine", s.URL)
	}
	for i, restart := range []func(){func() {}, func() { s.Stop(); s.Start() }, func() { s.Kill(); s.Start() }} {
		restart()
		if got, err := read(t, addr); err != nil || len(got) != i+1 {
			t.Errorf("after %d restarts: got %q, %v, want %d starts", i, got, err, i+1)
		}
	}
}

func TestStoppedServerIsNotReached(t *testing.T) {
	t.Parallel()
	s := testengine.Run(t, starts)
	s.Stop()
	if got, err := read(t, s.Proxy.Addr()); err == nil {
		t.Errorf("got %q through the proxy, want a reset connection", got)
	}
	if got, err := read(t, s.Addr()); err == nil {
		t.Errorf("got %q, want no server", got)
	}
}

func TestServerIsUsedOnceItIsReady(t *testing.T) {
	t.Parallel()
	asked := 0
	slow := starts
	slow.Ready = func(context.Context, string) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	}
	testengine.Run(t, slow)
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

func TestMissingProgramSkipsAndNamesItsPackage(t *testing.T) {
	t.Parallel()
	tb := &skipped{TB: t}
	testengine.Find(tb, "no-such-engine", "no-such-package")
	if !strings.Contains(tb.reason, "no-such-package") {
		t.Errorf("got reason %q, want the package to install", tb.reason)
	}
}

func TestProgramIsFoundInADirectory(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := testengine.Find(t, filepath.Base(self), "go", filepath.Dir(self)); got != self {
		t.Errorf("got %q, want %q", got, self)
	}
}

// skipped records why a test would be skipped.
type skipped struct {
	testing.TB
	reason string
}

func (s *skipped) Skipf(format string, args ...any) { s.reason = fmt.Sprintf(format, args...) }
