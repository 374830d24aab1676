package definition_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// inProject returns an upstream of a project's file.
func inProject(project string, command ...string) *host.Upstream {
	return &host.Upstream{Key: "files", Target: mcpclient.Command(command[0], command[1:]...), Origin: host.Origin{Project: project}}
}

// writeLock writes the lock file of a project as it is approved now.
func writeLock(t *testing.T, s *definition.Store, project string, u *host.Upstream) string {
	t.Helper()
	l, err := s.Lock(t.Context(), []host.Upstream{*u})
	if err != nil {
		t.Fatal(err)
	}
	text, err := l.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(project, definition.LockFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLockFileApprovesNothing(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	u := inProject(project, "npx", "-y", "@example/files@1.0.0", project)
	ours, theirs := newStore(), newStore()
	want(t, theirs, u, everything(""), "", "new instructions, new read, new write, new greet, new file:///{path}")
	approve(t, theirs, u)
	text := writeLock(t, theirs, project, u)
	if !strings.Contains(text, `"@example/files@1.0.0"`) || !strings.Contains(text, "${workspaceFolder}") || strings.Contains(text, project) {
		t.Errorf("got %s, want packages, and no directory of this machine", text)
	}
	want(t, ours, u, everything(""), "", "new instructions, new read, new write, new greet, new file:///{path}")
	approve(t, ours, u)
	want(t, ours, u, everything(""), all, "")
}

func TestWhatDiffersFromTheLockFileIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218b")
	project := t.TempDir()
	s, u := newStore(), inProject(project, "npx", "-y", "@example/files@1.0.0")
	want(t, s, u, everything(""), "", "new instructions, new read, new write, new greet, new file:///{path}")
	if _, err := s.Lock(t.Context(), []host.Upstream{*u}); err == nil || !strings.Contains(err.Error(), "are not approved") {
		t.Errorf("got %v, want what is not approved not to be locked", err)
	}
	approve(t, s, u)
	writeLock(t, s, project, u)
	want(t, s, u, everything(" now"), "write", "changed instructions, changed read, changed greet, changed file:///{path}")
	if f := waiting(t, s, u).Definitions[0].Findings; len(f) != 1 || f[0] != "it differs from fondaco.lock" {
		t.Errorf("got %q, want the file named", f)
	}
	if _, err := s.Lock(t.Context(), []host.Upstream{*u}); err == nil || !strings.Contains(err.Error(), "definitions wait for approval") {
		t.Errorf("got %v, want what waits not to be locked", err)
	}
	approve(t, s, u)
	want(t, s, u, everything(" now"), "write", "changed instructions, changed read, changed greet, changed file:///{path}")
	before, err := definition.ReadLock(project)
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Lock(t.Context(), []host.Upstream{*u})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(before.Differences(now), "; "); !strings.Contains(got, `server "files": tool "read" has changed`) || strings.Contains(got, "write") {
		t.Errorf("got %s, want what differs", got)
	}
	writeLock(t, s, project, u)
	want(t, s, u, everything(" now"), all, "")
}

func TestServerIsStartedOnlyAsTheLockFileHasIt(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	s, u := newStore(), inProject(project, "npx", "-y", "@example/files@1.0.0")
	if err := definition.CheckLock(u); err != nil {
		t.Errorf("without the file: %v", err)
	}
	want(t, s, u, tools(tool("read", "Read")), "", "new read")
	approve(t, s, u)
	writeLock(t, s, project, u)
	if err := definition.CheckLock(u); err != nil {
		t.Error(err)
	}
	other := inProject(project, "npx", "-y", "@example/files@1.0.1")
	if err := definition.CheckLock(other); err == nil || !strings.Contains(err.Error(), `the packages are ["@example/files@1.0.1"], locked are ["@example/files@1.0.0"]`) {
		t.Errorf("got %v, want the version named", err)
	}
	other = inProject(project, "npx", "-y", "@example/files@1.0.0", "--all")
	if err := definition.CheckLock(other); err == nil || !strings.Contains(err.Error(), "the command is") {
		t.Errorf("got %v, want the command named", err)
	}
	other = inProject(project, "npx", "-y", "@example/files@1.0.0")
	other.Key = "more"
	if err := definition.CheckLock(other); err == nil || !strings.Contains(err.Error(), `server "more": it is not in fondaco.lock`) {
		t.Errorf("got %v, want the server named", err)
	}
	if kept, _ := shown(t, s, other, tools(tool("read", "Read"))); len(kept) != 0 {
		t.Errorf("got %q, want nothing of a server that is not locked", kept)
	}
}

func TestLockNamesPackagesAndNotWhatOnlyLooksLikeAnImage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		command []string
		want    string
	}{
		{[]string{"npx", "-y", "@example/files@1.0.0"}, "@example/files@1.0.0"},
		{[]string{`C:\nodejs\npx.cmd`, "-y", "@example/files@1.0.0"}, "@example/files@1.0.0"},
		{[]string{"docker", "run", "-v", "/srv:ro", "example/files:1.0"}, ""},
		{[]string{`C:\Docker\docker.exe`, "run", "-v", "/srv:ro", "example/files:1.0"}, ""},
	} {
		project := t.TempDir()
		s, u := newStore(), inProject(project, test.command...)
		want(t, s, u, tools(tool("read", "Read")), "", "new read")
		approve(t, s, u)
		l, err := s.Lock(t.Context(), []host.Upstream{*u})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(l.Servers["files"].Packages, " "); got != test.want {
			t.Errorf("%q: got the packages %q, want %q", test.command, got, test.want)
		}
	}
}

func TestInvalidLockFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{}`, `{"format":2,"servers":{}}`, `{"format":1,"servers":{},"approve":true}`, `[]`, "\x00"} {
		project := t.TempDir()
		if err := os.WriteFile(filepath.Join(project, definition.LockFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := definition.CheckLock(inProject(project, "files")); err == nil || !strings.Contains(err.Error(), "fondaco.lock") {
			t.Errorf("%q: got %v, want it refused", text, err)
		}
		if _, err := newStore().Filter(t.Context(), inProject(project, "files"), tools()); err == nil {
			t.Errorf("%q: want nothing shown", text)
		}
	}
	project := t.TempDir()
	if err := os.Mkdir(filepath.Join(project, definition.LockFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := definition.ReadLock(project); err == nil {
		t.Error("a directory was read")
	}
}
