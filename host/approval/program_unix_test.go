//go:build unix

package approval_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestChangeOfWhatRunsNeedsApproval(t *testing.T) {
	t.Parallel()
	type change struct {
		do   func(m *machine, u *host.Upstream, c *mcpclient.CommandTarget)
		want string
	}
	for name, test := range map[string]change{
		"script": {func(m *machine, _ *host.Upstream, _ *mcpclient.CommandTarget) {
			m.write("proj/server.py", "print('evil')")
		}, "the content of the script /proj/server.py has changed"},
		"script of the same length": {func(m *machine, _ *host.Upstream, _ *mcpclient.CommandTarget) {
			m.write("proj/server.py", "print('GOOD')")
		}, "the content of the script"},
		"interpreter of the user": {func(m *machine, _ *host.Upstream, _ *mcpclient.CommandTarget) {
			m.write("home/bin/python3", "\x7fELF evil")
		}, "the program /home/bin/python3 was replaced"},
		"another interpreter first in the PATH": {func(m *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			m.write("other/bin/python3", "\x7fELF python3")
			c.Env["PATH"] = m.path("other/bin")
		}, "the program /other/bin/python3 runs, which did not"},
		"target of a symbolic link": {func(m *machine, _ *host.Upstream, _ *mcpclient.CommandTarget) {
			m.write("lib/evil.py", "evil")
			m.link("proj/helper.py", m.path("lib/evil.py"))
		}, "the target of the symbolic link /proj/helper.py is /lib/evil.py, was /lib/helper.py"},
		"working directory": {func(m *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Dir = m.path("proj/sub")
			m.write("proj/sub/server.py", "print('good')")
			m.write("proj/sub/helper.py", "help")
		}, "the working directory is /proj/sub, was /proj"},
		"literal value": {func(_ *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Env["HOME"] = "/tmp"
		}, "the variable HOME has another value"},
		"value that chooses a registry": {func(_ *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Env["npm_config_registry"] = "https://evil.example"
		}, "the variable npm_config_registry has another value"},
		"value that chooses another daemon": {func(_ *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Env["DOCKER_HOST"] = "tcp://evil.example"
		}, "the variable DOCKER_HOST has another value"},
		"another variable": {func(_ *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Env["NODE_OPTIONS"] = "--require x"
		}, "the variable NODE_OPTIONS is set, was not"},
		"variable that is no longer set": {func(_ *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			delete(c.Env, "HOME")
		}, "the variable HOME is no longer set"},
		"argument": {func(_ *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Args = []string{"-u", "server.py", "helper.py", "--root=/etc"}
		}, "argument 4 is --root=/etc, was --root=data"},
		"argument that is split differently": {func(_ *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Args = []string{"-u", "server.py", "helper.py", "--root", "data"}
		}, ", were "},
		"data that becomes code": {func(m *machine, _ *host.Upstream, c *mcpclient.CommandTarget) {
			m.must(os.Chmod(m.path("proj/data"), 0o700))
		}, "the script /proj/data runs, which did not"},
		"file behind a variable": {func(m *machine, _ *host.Upstream, _ *mcpclient.CommandTarget) {
			m.write("proj/preload.so", "evil")
		}, "the content of the script /proj/preload.so has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim.Shows(t, "R-363a")
			m := newMachine(t)
			m.write("home/bin/python3", "\x7fELF python3")
			m.write("proj/server.py", "print('good')")
			m.write("lib/helper.py", "help")
			m.link("proj/helper.py", m.path("lib/helper.py"))
			m.write("proj/data", "data")
			m.write("proj/preload.so", "lib")
			u := m.server("proj", "files", "python3", "-u", "server.py", "helper.py", "--root=data")
			c := u.Target.(*mcpclient.CommandTarget)
			c.Env["PATH"] = m.path("home/bin")
			for variable, value := range map[string]string{
				"HOME": "/home/anna", "LD_PRELOAD": "./preload.so", "npm_config_registry": "https://registry.example", "DOCKER_HOST": "unix:///run/docker.sock",
			} {
				c.Env[variable] = value
			}
			if p := m.check(u); p == nil || p.Before != nil {
				t.Fatalf("got %+v, want a program that was never approved", p)
			}
			m.approve(u)
			m.open()
			m.mustNotAsk(u)
			test.do(m, u, c)
			m.mustAsk(u, test.want)
			m.approve(u)
		})
	}
}

// The content of a file of a project that is an argument or a variable can decide what runs.
func TestTextsOfProjectsFilesAreCovered(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	file := func(path string) host.Text {
		return host.Text{Written: "${file:" + path + "}", References: []host.Reference{{Kind: host.FileReference, Name: path}}}
	}
	m := newMachine(t)
	m.write("proj/server.js", "serve")
	flags, options, secret, token := m.write("outside/flags", "-v"), m.write("proj/options", ""), m.write("home/secret", "1"), m.write("proj/token", "1")
	u := m.server("proj", "x", "node", "${file:"+flags+"}", "server.js")
	u.Source = &host.Source{
		Command: literal("node"), Args: []host.Text{file(flags), literal("server.js")},
		Env: map[string]host.Text{"NODE_OPTIONS": file(options), "API_KEY": file(secret), "OTHER": file(token), "PATH": literal(m.path("usr/bin"))},
	}
	m.approve(u)
	m.write("home/secret", "2")
	m.mustNotAsk(u)
	for _, path := range []string{"outside/flags", "proj/options", "proj/token"} {
		m.write(path, "--require=./evil.js")
		m.mustAsk(u, "the content of the text /"+path+" has changed")
		m.approve(u)
	}
	u.Resolve = func(context.Context) (*host.Upstream, error) {
		m.write("outside/flags", "--require=./worse.js")
		return u, nil
	}
	if _, err := m.a.Admit(t.Context(), u); err == nil || !strings.Contains(err.Error(), "was changed while the server was started") {
		t.Errorf("got %v, want a file refused that changes between the check and its use", err)
	}

	own := m.server("own", "y", "node", "--token", "x") // of the user
	own.Origin.Project, own.Source = "", &host.Source{Command: literal("node"), Args: []host.Text{literal("--token"), file(secret)}}
	m.approve(own)
	m.write("home/secret", "3")
	m.mustNotAsk(own)
}

func TestFilesOutsideOfTheProjectAreNamed(t *testing.T) {
	t.Parallel()
	file := func(path string) host.Text {
		return host.Text{Written: "x${file:" + path + "}", References: []host.Reference{{Kind: host.FileReference, Name: path}}}
	}
	m := newMachine(t)
	key, inside := m.write("home/.ssh/id_rsa", "key"), m.write("proj/token", "x")
	m.write("proj/linked", "x")
	u := m.server("proj", "x", "node", "-v")
	u.Source = &host.Source{
		Command: literal("node"), Args: []host.Text{literal("-v"), file(key), file(inside)},
		Env: map[string]host.Text{"API_KEY": file(key), "TOKEN": file(inside), "LINKED": file(m.path("proj/linked"))},
	}
	got := m.approve(u).Subject.Program.Concerns
	want := []string{
		"the file " + key + " is outside of the project, and the program gets its content as an argument",
		"the file " + key + " is outside of the project, and the program gets its content as the variable API_KEY",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.link("proj/linked", key)
	m.mustAsk(u, "unusual, in addition: the file /proj/linked is outside of the project")
	u.Origin.Project = ""
	if got := m.check(u).Subject.Program.Concerns; len(got) > 0 {
		t.Errorf("got %q, want nothing said of a file of the user", got)
	}
}

func TestScriptOfAnotherRepositoryIsNotApproved(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("one/server.py", "one")
	m.write("two/server.py", "one") // also with the same content
	one, two := m.server("one", "files", "python3", "server.py"), m.server("two", "files", "python3", "server.py")
	m.approve(one)
	if _, err := m.a.Admit(t.Context(), two); !errors.Is(err, host.ErrNeedsApproval) {
		t.Errorf("got %v, want the other repository to need approval", err)
	}
	m.mustNotAsk(one)
}

func TestReplacedContentIsNotApprovedAnyMore(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	u := m.server("proj", "files", "python3", "server.py")
	m.write("proj/server.py", "version 1")
	m.approve(u)
	m.write("proj/server.py", "version 2")
	m.mustAsk(u, "has changed")
	m.write("proj/server.py", "version 1")
	m.mustNotAsk(u) // nothing else was approved
	m.write("proj/server.py", "version 2")
	m.approve(u)
	m.write("proj/server.py", "version 1")
	m.mustAsk(u, "has changed")
}

func TestRevokedServerNeedsApproval(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	one, two := m.server("one", "files", "node", "-v"), m.server("two", "issues", "node", "-v")
	m.approve(one)
	m.approve(two)
	all, err := m.a.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Subject.Name != "files" || all[0].By != "by the user" || all[0].At.IsZero() {
		t.Fatalf("got %+v, %v, want both with who approved them", all, err)
	}
	m.must(m.a.Revoke(t.Context(), &all[0]))
	if p := m.check(one); p == nil || p.Before != nil {
		t.Errorf("got %+v, want it to need approval as if it were new", p)
	}
	m.mustNotAsk(two)
}

// Twenty starts of servers whose data and tokens change ask once.
func TestDataAndReferencesDoNotAsk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/memory.json", "{}")
	sqlite := m.server("proj", "sqlite", "uvx", "mcp-server-sqlite@1.2.3", "--db-path", "data.db")
	memory := m.server("proj", "memory", "npx", "-y", "@example/memory@1.0.0", "memory.json")
	rotating := m.server("proj", "issues", "node", "server.js", "--token", "${env:TOKEN}")
	m.write("proj/server.js", "serve")
	rotating.Source = &host.Source{
		Command: literal("node"), Args: []host.Text{literal("server.js"), literal("--token"), variable("TOKEN")},
		Env: map[string]host.Text{"TOKEN": variable("TOKEN"), "PATH": literal(m.path("usr/bin"))},
	}
	asked := 0
	for start := range 20 {
		m.open()
		m.write("proj/data.db", fmt.Sprint("row ", start))
		m.write("proj/memory.json", fmt.Sprintf(`{"fact": %d}`, start))
		c := rotating.Target.(*mcpclient.CommandTarget)
		c.Env["TOKEN"], c.Args[2] = fmt.Sprint("token ", start), fmt.Sprint("token ", start)
		questions, err := m.a.Questions(t.Context(), []host.Upstream{*sqlite, *memory, *rotating})
		m.must(err)
		asked += len(questions)
		for _, q := range questions {
			m.must(m.a.Approve(t.Context(), &q.Pending[0], "by the user"))
		}
	}
	if asked != 3 {
		t.Errorf("got %d questions, want one for each server", asked)
	}
	if p, err := m.a.List(t.Context()); err != nil || !slices.Contains(p[2].Subject.Program.Data, m.path("proj/data.db")) {
		t.Errorf("got %+v, %v, want the file as data", p, err)
	}
}

func TestWhatIsStartedIsWhatOthersDecideAbout(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	m := newMachine(t)
	m.write("opt/bin/real", "\x7fELF approved")
	m.link("usr/bin/tool", m.path("opt/bin/real"))
	u := m.server("proj", "x", "tool")
	m.approve(u)
	admitted, err := m.a.Admit(t.Context(), u)
	m.must(err)
	sum := sha256.Sum256([]byte("\x7fELF approved"))
	if want := []host.ProgramFile{{Path: m.path("opt/bin/real"), SHA256: hex.EncodeToString(sum[:])}}; !slices.Equal(admitted.Files, want) {
		t.Errorf("got %+v, want %+v", admitted.Files, want)
	}
	m.write("opt/bin/real", "\x7fELF another")
	if f, err := admitted.Target.(*mcpclient.CommandTarget).Open(); err == nil {
		_ = f.Close()
		t.Error("another content was opened to be started")
	}
}

func TestValuesOfVariablesAreNotStored(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	u := m.server("proj", "x", "node", "--version")
	u.Target.(*mcpclient.CommandTarget).Env["API_KEY"] = "CANARY"
	u.Target.(*mcpclient.CommandTarget).Env["NODE_OPTIONS"] = "--require ./x.js"
	p := m.approve(u)
	keys, err := m.store.List(t.Context(), "", "", 10)
	m.must(err)
	for _, key := range keys {
		if text, _, _ := m.store.Get(t.Context(), key); strings.Contains(string(text), "CANARY") {
			t.Errorf("got %s, want no value", text)
		}
	}
	for _, v := range p.Subject.Program.Variables {
		if v.Value == "CANARY" || v.Name == "NODE_OPTIONS" && v.Value == "" {
			t.Errorf("got %+v, want the values shown that decide what runs, and no others", v)
		}
	}
}

// Proxies, certificates and package indexes are those of the user's machine, not of the server.
func TestChangesOfInheritedVariablesDoNotAsk(t *testing.T) {
	m := newMachine(t)
	u := m.server("proj", "x", "npx", "-y", "package@1.0.0")
	m.approve(u)
	for _, name := range []string{"HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "npm_config_registry"} {
		t.Setenv(name, m.write("proj/"+name+".js", "changed"))
		m.mustNotAsk(u)
	}
	u.Source = &host.Source{
		Command: host.Text{Written: "npx"}, Args: []host.Text{{Written: "-y"}, {Written: "package@1.0.0"}},
		Env: map[string]host.Text{"PATH": {Written: m.path("usr/bin")}, "HTTPS_PROXY": {
			Written: "${env:HTTPS_PROXY}", References: []host.Reference{{Kind: host.VariableReference, Name: "HTTPS_PROXY"}},
		}},
	}
	m.mustAsk(u, "HTTPS_PROXY") // which may have a password
	m.approve(u)
	u.Target.(*mcpclient.CommandTarget).Env["HTTPS_PROXY"] = "http://user:other@proxy.example"
	m.mustNotAsk(u)
}

func TestInvalidRecordsApproveNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	u, other := m.server("proj", "x", "node", "--version"), m.server("proj", "y", "node", "--help")
	m.approve(u)
	m.approve(other)
	keys, err := m.store.List(t.Context(), approval.Section+"/", "", 10)
	m.must(err)
	good, _, err := m.store.Get(t.Context(), keys[0])
	m.must(err)
	foreign, _, err := m.store.Get(t.Context(), keys[1])
	m.must(err)
	for name, record := range map[string]string{
		"damaged": string(good[:len(good)/2]), "empty": "{}", "no JSON": "x", "of another server": string(foreign),
		"unknown member": strings.Replace(string(good), `"by"`, `"trusted":true,"by"`, 1), "twice": string(good) + string(good),
	} {
		m.must(m.store.Put(t.Context(), keys[0], []byte(record), 0))
		if admitted, err := m.a.Admit(t.Context(), u); err == nil || errors.Is(err, host.ErrNeedsApproval) {
			t.Errorf("%s: got %v, %v, want an error", name, admitted, err)
		}
	}
	m.must(m.a.Forget(t.Context(), u))
	m.approve(u)
}

func TestProgramThatCannotBeFoundIsAnError(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/bin/node", "\x7fELF")
	relative := m.server("proj", "x", "node")
	relative.Target.(*mcpclient.CommandTarget).Env["PATH"] = "bin:." // relative directories are not searched
	secret := m.server("proj", "x", "CANARY")
	secret.Source = &host.Source{Command: variable("SECRET")}
	nowhere := m.server("proj", "x", "node")
	nowhere.Target.(*mcpclient.CommandTarget).Dir = "sub"
	invalid := m.server("proj/\xff", "x", "node")
	gone := m.server("proj", "x", "node")
	gone.Target.(*mcpclient.CommandTarget).Dir = m.path("gone")
	for want, u := range map[string]*host.Upstream{
		"it is not in the PATH":                          relative,
		"command \"${env:SECRET}\": the program that it": secret,
		"want an absolute path":                          nowhere,
		"invalid UTF-8":                                  invalid,
		"working directory: lstat":                       gone,
	} {
		if _, err := m.a.Check(t.Context(), u); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNothingOnAnotherMachineIsLookedAtForAProject(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	m := newMachine(t)
	net := m.path("net")
	// As on Windows, with a directory in place of another machine.
	m.a.SetCheckLocal(func(path, project string) error {
		if project != "" && strings.HasPrefix(path, net) {
			return errors.New(path + " leads to another machine")
		}
		return nil
	})
	m.write("net/x.js", "x")
	argument, dir := m.server("proj", "x", "node", m.path("net/x.js")), m.server("net", "x", "node", "-v")
	dir.Origin.Project = m.path("proj")
	for want, u := range map[string]*host.Upstream{
		m.path("net/x.js") + " leads to another machine":          argument,
		"working directory: " + net + " leads to another machine": dir,
	} {
		if p, err := m.a.Check(t.Context(), u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v, want %s", p, err, want)
		}
		u.Origin.Project = ""
		if _, err := m.a.Check(t.Context(), u); err != nil {
			t.Errorf("in the user's own file: %v", err)
		}
	}
}

func TestDevSkipsScriptsOfTheUsersOwnDirectoryOnly(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.must(os.Chmod(m.root, 0o700))
	m.write("home/bin/node", "\x7fELF node")
	own := m.server("proj", "mine", "node", "server.js")
	own.Origin.Project, own.Settings.Dev = "", true
	own.Target.(*mcpclient.CommandTarget).Env["PATH"] = m.path("home/bin")
	m.write("proj/server.js", "1")
	m.approve(own)
	m.write("proj/server.js", "2")
	m.mustNotAsk(own)
	m.write("home/bin/node", "\x7fELF evil")
	m.mustAsk(own, "node was replaced")
	m.approve(own)

	m.must(os.Chmod(m.path("proj"), 0o770))
	m.mustAsk(own, `"dev" has no effect`)
	m.approve(own)
	m.write("proj/server.js", "3")
	m.mustAsk(own, "has changed")

	m.must(os.Chmod(m.path("proj"), 0o700))
	m.write("proj/bin/start", "#!"+m.path("home/bin/node")+"\n")
	program := m.server("proj", "program", "./bin/start")
	program.Origin.Project, program.Settings.Dev = "", true
	if got := m.check(program).Subject.Program.NotCovered; !strings.Contains(fmt.Sprint(got), `"dev" has no effect: it is for scripts`) {
		t.Errorf("got %q, want that the program itself is not excepted", got)
	}
	if got := m.check(own).Subject.Program.NotCovered; strings.Contains(fmt.Sprint(got), "dev") {
		t.Errorf("got %q, want the script excepted", got)
	}

	foreign := m.server("other", "theirs", "node", "server.js")
	foreign.Settings.Dev = true
	m.write("other/server.js", "1")
	m.approve(foreign)
	m.write("other/server.js", "2")
	m.mustAsk(foreign, "has changed")
}

func TestCommandIsShownQuotedAndEscaped(t *testing.T) {
	t.Parallel()
	s := approval.Subject{Program: &approval.Program{Command: "npx", Args: []string{"-y", "it's", "", "a\u202eb", strings.Repeat("x", 5000)}}}
	want := `npx -y 'it'\''s' '' 'a\u202eb' ` + strings.Repeat("x", 5000)
	if got := s.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What the references stand for is asked for only after the approval.
func TestReferencesAreResolvedAfterApprovalOnly(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	u := m.server("proj", "x", "node", "--version")
	resolved := 0
	u.Resolve = func(context.Context) (*host.Upstream, error) {
		resolved++
		full := *u
		return &full, nil
	}
	m.check(u)
	if _, err := m.a.Admit(t.Context(), u); !errors.Is(err, host.ErrNeedsApproval) || resolved > 0 {
		t.Errorf("got %v, resolved %d times, want none before the approval", err, resolved)
	}
	m.approve(u)
	if resolved != 1 {
		t.Errorf("got it resolved %d times, want once", resolved)
	}
}

func TestRecordsThatOthersCanChangeApproveNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir, record string) error{
		"directory that others can write to": func(dir, _ string) error { return os.Chmod(dir, 0o777) },
		"file that others can write to":      func(_, record string) error { return os.Chmod(record, 0o666) },
		"edited by hand": func(_, record string) error {
			sealed, err := os.ReadFile(record)
			if err == nil {
				sealed[len(sealed)/2] ^= 1
				err = os.WriteFile(record, sealed, 0o600)
			}
			return err
		},
		"replaced by a text": func(_, record string) error { return os.WriteFile(record, []byte(`{"by":"the user"}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			dir := m.path("state")
			m.store = state.Open(dir, func(context.Context) ([]byte, error) { return bytes.Repeat([]byte("k"), 32), nil })
			m.open()
			u := m.server("proj", "x", "node", "--version")
			m.approve(u)
			records, err := filepath.Glob(filepath.Join(dir, approval.Section, "*"))
			if err != nil || len(records) != 1 {
				t.Fatalf("got %q, %v, want one record", records, err)
			}
			m.must(change(filepath.Dir(records[0]), records[0]))
			if _, err := m.a.Admit(t.Context(), u); err == nil || errors.Is(err, host.ErrNeedsApproval) {
				t.Errorf("got %v, want an error", err)
			}
		})
	}
}

// The yes for the server alone passes no password. What a yes has named is passed as it is then.
func TestProxyWithAPasswordIsPassedAfterAYesThatNamesIt(t *testing.T) {
	m := newMachine(t)
	u := m.server("proj", "x", "node", "--version")
	proxyOf := func() string {
		t.Helper()
		admitted, err := m.a.Admit(t.Context(), u)
		m.must(err)
		return admitted.Target.(*mcpclient.CommandTarget).Env["HTTPS_PROXY"]
	}
	t.Setenv("HTTPS_PROXY", "http://user:secret@proxy.example")
	p := m.check(u)
	if !slices.Equal(p.Proxies, []string{"HTTPS_PROXY"}) {
		t.Errorf("got %q, want the variable named", p.Proxies)
	}
	m.must(m.a.Approve(t.Context(), p, "by the user"))
	if got := proxyOf(); got != "" {
		t.Errorf("got %q after a yes that does not name it", got)
	}
	p.PassProxies = true
	m.must(m.a.Approve(t.Context(), p, "by the user"))
	for _, value := range []string{"http://user:secret@proxy.example", "http://user:other@proxy.example"} {
		t.Setenv("HTTPS_PROXY", value)
		if got := proxyOf(); got != value {
			t.Errorf("got %q, want %q", got, value)
		}
	}
	t.Setenv("ALL_PROXY", "http://user:secret@all.example")
	admitted, err := m.a.Admit(t.Context(), u)
	m.must(err)
	if got, ok := admitted.Target.(*mcpclient.CommandTarget).Env["ALL_PROXY"]; ok {
		t.Errorf("got %q of a variable that no yes has named", got)
	}
	// What the administrator has installed is carried over, the proxy too.
	m.write("usr/bin/node", "\x7fELF node 23")
	if got := proxyOf(); got != "http://user:other@proxy.example" || len(m.carried) != 1 {
		t.Errorf("got %q and %q, want the proxy carried over", got, m.carried)
	}
	// Any other program is a new one: the yes is asked for again.
	u.Target.(*mcpclient.CommandTarget).Args = []string{"--help"}
	if p = m.check(u); !slices.Equal(slices.Sorted(slices.Values(p.Proxies)), []string{"ALL_PROXY", "HTTPS_PROXY"}) {
		t.Errorf("got %q, want all variables named again", p.Proxies)
	}
	m.must(m.a.Approve(t.Context(), p, "by the user"))
	if got := proxyOf(); got != "" {
		t.Errorf("got %q for a program that has changed since the yes", got)
	}
	keys, err := m.store.List(t.Context(), approval.Section+"/", "", 10)
	m.must(err)
	if text, _, _ := m.store.Get(t.Context(), keys[0]); strings.Contains(string(text), "secret") {
		t.Errorf("got %s, want no value", text)
	}
}
