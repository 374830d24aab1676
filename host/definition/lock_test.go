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
	for _, text := range []string{``, `{}`, `{"format":1,"servers":{}}`, `{"format":2,"servers":{},"approve":true}`, `[]`, "\x00"} {
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

// written returns a text that refers to others, or to none.
func written(text string, references ...host.Reference) host.Text {
	return host.Text{Written: text, References: references}
}

var token = host.Reference{Kind: host.VariableReference, Name: "TOKEN"}

// lockOne returns the lock of one upstream, and its text.
func lockOne(t *testing.T, u *host.Upstream) (*definition.Lock, string) {
	t.Helper()
	l, err := newStore().Listed(t.Context(), []host.Upstream{*u}, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	text, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return l, string(text)
}

// programIn returns a program of a project on a machine.
func programIn(project, home string) *host.Upstream {
	u := inProject(project, "python3", project+"/server.py")
	u.Target.(*mcpclient.CommandTarget).Dir = filepath.Join(project, "work")
	u.Source = &host.Source{
		Command: written("python3"), Args: []host.Text{written(project + "/server.py"), written(home + "/notes")},
		Env: map[string]host.Text{
			"PLAIN": written("hunter2"), "DATA": written(project + "/data"), "CACHE": written(home + "/cache"),
			"TOKEN": written("${env:TOKEN}", token), "HEADER": written("Bearer ${env:TOKEN}", token),
			"DEFAULT": written("${env:TOKEN:-hunter2}", host.Reference{Kind: host.VariableReference, Name: "TOKEN", Default: "hunter2"}),
			"MIXED":   written("hunter2${env:TOKEN}", token), "OF_FILE": written("hunter2"),
		},
		EnvFile: project + "/config/.env", EnvFileNames: []string{"OF_FILE"},
	}
	return u
}

func TestLockHasNoValuesAndIsTheSameOnEveryMachine(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("there is no home directory")
	}
	one, two := t.TempDir(), t.TempDir()
	before, text := lockOne(t, programIn(one, home))
	for _, member := range []string{`"TOKEN": "${env:TOKEN}"`, `"HEADER": "Bearer ${env:TOKEN}"`, `"dir": "work"`, `"envFile": "config/.env"`, `"${userHome}/notes"`, `"${workspaceFolder}/server.py"`} {
		if !strings.Contains(text, member) {
			t.Errorf("got %s, want %s", text, member)
		}
	}
	for _, secret := range []string{"hunter2", "OF_FILE", one, home} {
		if strings.Contains(text, secret) {
			t.Errorf("got %s, want no %s", text, secret)
		}
	}
	if now, other := lockOne(t, programIn(two, home)); other != text || before.Differences(now) != nil {
		t.Errorf("got %s, want %s as in another directory", other, text)
	}
}

func TestEveryChangeOfAServerDiffersFromItsLock(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	before, _ := lockOne(t, programIn(project, "/nowhere"))
	remote := func() *host.Upstream {
		return &host.Upstream{Key: "files", Target: mcpclient.URL("https://example.com/mcp"), Origin: host.Origin{Project: project}, Source: &host.Source{
			URL:     written("https://example.com/mcp"),
			Headers: map[string]host.Text{"Authorization": written("Bearer ${env:TOKEN}", token), "X-Key": written("hunter2")},
			SignIn:  map[string]host.Text{"clientId": written("c"), "clientSecret": written("hunter2")},
		}}
	}
	beforeRemote, text := lockOne(t, remote())
	if strings.Contains(text, "hunter2") || !strings.Contains(text, `"Authorization": "Bearer ${env:TOKEN}"`) {
		t.Errorf("got %s, want digests and references", text)
	}
	for want, change := range map[string]func(*host.Upstream){
		`the variable "PLAIN" has changed`:                    func(u *host.Upstream) { u.Source.Env["PLAIN"] = written("hunter3") },
		`the variable "TOKEN" has changed`:                    func(u *host.Upstream) { u.Source.Env["TOKEN"] = written("x") },
		`the variable "DEFAULT" has changed`:                  func(u *host.Upstream) { u.Source.Env["DEFAULT"] = written("${env:TOKEN}", token) },
		`the variable "MIXED" has changed`:                    func(u *host.Upstream) { u.Source.Env["MIXED"] = written("hunter3${env:TOKEN}", token) },
		`the variable "LD_PRELOAD" is not locked`:             func(u *host.Upstream) { u.Source.Env["LD_PRELOAD"] = written("x.so") },
		`the variable "DATA" is locked, and not there`:        func(u *host.Upstream) { delete(u.Source.Env, "DATA") },
		`the working directory is "other", locked is "work"`:  func(u *host.Upstream) { u.Target.(*mcpclient.CommandTarget).Dir = project + "/other" },
		`the environment file is "", locked is "config/.env"`: func(u *host.Upstream) { u.Source.EnvFile = "" },
	} {
		u := programIn(project, "/nowhere")
		change(u)
		now, _ := lockOne(t, u)
		if got := strings.Join(before.Differences(now), "; "); got != `server "files": `+want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for want, change := range map[string]func(*host.Source){
		`the header "X-Key" has changed`:                  func(s *host.Source) { s.Headers["X-Key"] = written("hunter3") },
		`the header "X-More" is not locked`:               func(s *host.Source) { s.Headers["X-More"] = written("a") },
		`the member of "auth" "clientSecret" has changed`: func(s *host.Source) { s.SignIn["clientSecret"] = written("hunter3") },
	} {
		u := remote()
		change(u.Source)
		now, _ := lockOne(t, u)
		if got := strings.Join(beforeRemote.Differences(now), "; "); got != `server "files": `+want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// What is installed or built on each machine is in no lock.
func TestLockHasTheFilesOfTheProjectThatRun(t *testing.T) {
	t.Parallel()
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	u := inProject(project, "sh", "run.sh")
	u.Files = []host.ProgramFile{{Path: "/bin/sh", SHA256: "outside"}}
	for name, content := range map[string]string{
		"run.sh": "exec server", "lib/more.py": "x", "node_modules/a/a.js": "x", "env/pyvenv.cfg": "", "env/bin/tool": "#!/abs/env/bin/python",
		"bin/server": "\x7fELF\x02\x01\x01\x00", "bin/server.exe": "MZ\x90\x00", "bin/mac": "\xca\xfe\xba\xbe\x00\x00\x00\x02", "A.class": "\xca\xfe\xba\xbe\x00\x00\x00\x41",
	} {
		path := filepath.Join(project, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		u.Files = append(u.Files, host.ProgramFile{Path: path, SHA256: "digest of " + name})
	}
	before, text := lockOne(t, u)
	if files := before.Servers["files"].Files; len(files) != 3 || files["A.class"] == "" || files["run.sh"] != "digest of run.sh" || files["lib/more.py"] != "digest of lib/more.py" {
		t.Errorf("got %s, want the scripts", text)
	}
	u.Files = []host.ProgramFile{{Path: filepath.Join(project, "run.sh"), SHA256: "other"}}
	now, _ := lockOne(t, u)
	const want = `server "files": the file "A.class" is locked, and not there; server "files": the file "lib/more.py" is locked, and not there; server "files": the file "run.sh" has changed`
	if got := strings.Join(before.Differences(now), "; "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := os.WriteFile(filepath.Join(project, definition.LockFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := definition.CheckLock(u); err == nil || !strings.Contains(err.Error(), `the file "run.sh" has changed`) {
		t.Errorf("got %v, want the file named", err)
	}
	u.Files = nil // before it is admitted
	if err := definition.CheckLock(u); err != nil {
		t.Error(err)
	}
}
