package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// The demonstration asks the user nothing, and no code is shown for a server that does not exist.
func TestConsoleAddsNoRootToAServerOutsideOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ path, server string }{
		"of the demonstration": {"", "one"},
		"unknown":              {"mcp.json", "two"},
	} {
		s := &consoleSource{host: &hostProcess{path: test.path, servers: new(supervisor.Supervisor)}}
		s.host.servers.Use([]host.Upstream{{Key: test.server}})
		if err := s.AddRoot(t.Context(), "one", t.TempDir(), ""); err == nil {
			t.Errorf("%s: got a root added, want an error", name)
		}
		if err := s.ShowRootCode(t.Context(), "one", t.TempDir()); err == nil {
			t.Errorf("%s: got a code shown, want an error", name)
		}
	}
}

// What is not shown whole cannot be consented to, and the console says what adds it.
func TestConsoleShowsNoCodeForAPathThatIsTooLong(t *testing.T) {
	t.Parallel()
	m, _, _ := terminalOf(t)
	q := questionsAt(m, new(mcpserver.MemoryStore))
	q.terminal.Store(true)
	servers := new(supervisor.Supervisor)
	servers.Use([]host.Upstream{{Key: "one"}})
	s := &consoleSource{host: &hostProcess{main: m, questions: q, servers: servers, path: "mcp.json"}}
	for n, want := range map[int]string{900: "", 1000: "found a path of 1001 bytes, which is too long to be shown whole beside the code; fondaco roots add takes it"} {
		err := s.ShowRootCode(t.Context(), "one", "/"+strings.Repeat("a", n))
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("%d bytes: got %v, want %q", n, err, want)
		}
	}
}

// What adds a root is recorded before; what is removed is removed in any case.
func TestRootThatCannotBeRecordedIsNotAdded(t *testing.T) {
	t.Parallel()
	m, _, _ := terminalOf(t)
	dir := t.TempDir()
	path, old, more := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "old"), filepath.Join(dir, "new")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"one": {"command": "server", "fondaco": {"roots": [%q]}}}}`, old), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	record := func(host.Action, string, string) error { return full }
	if _, _, err := m.changeRoots(path, "one", []string{more}, nil, record); !errors.Is(err, full) {
		t.Errorf("got %v, want the error of the audit log", err)
	}
	if got, err := m.rootsIn(path, "one"); err != nil || !slices.Equal(got, []string{old}) {
		t.Errorf("got %q, %v, want no root added", got, err)
	}
	if _, after, err := m.changeRoots(path, "one", nil, []string{old}, record); err != nil || len(after) > 0 {
		t.Errorf("got %q, %v, want the root removed", after, err)
	}
	if got, err := m.rootsIn(path, "one"); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v, want no root", got, err)
	}
}
