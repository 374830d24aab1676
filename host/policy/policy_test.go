package policy_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/policy"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func at(path string, owner int) policy.Place { return policy.Place{Path: path, Owner: owner} }

// load loads a policy with the given content.
func load(t *testing.T, content string) (*policy.Policy, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return at(path, os.Getuid()).Load()
}

func loaded(t *testing.T, content string) *policy.Policy {
	t.Helper()
	p, err := load(t, content)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func remote(url string) *host.Upstream { return &host.Upstream{Key: "r", Target: mcpclient.URL(url)} }

func TestWithoutAFileEverythingIsAllowed(t *testing.T) {
	t.Parallel()
	p, err := at(filepath.Join(t.TempDir(), "none", "policy.json"), os.Getuid()).Load()
	if err != nil || p != nil || p.Check(remote("https://example.com")) != nil || p.ForbiddenFlag([]string{"yes"}) != "" || p.RequiresAudit() {
		t.Errorf("got %+v, %v, want nothing denied", p, err)
	}
}

func TestURLsAreComparedPartByPart(t *testing.T) {
	t.Parallel()
	p := loaded(t, `{"servers": {"allow": [{"url": "https://*.example.com/mcp/*"}, {"url": "http://127.0.0.1:*/"}, {"url": "https://Exact.Example.org:8443/mcp"}, {"url": "unix:///run/*.sock"}]}}`)
	for url, want := range map[string]bool{
		"https://a.example.com/mcp/x":                    true,
		"https://A.EXAMPLE.COM:443/mcp/x?y=z":            true,
		"https://a.example.com./mcp/x":                   true,
		"https://a.example.com/mcp/../admin":             false,
		"https://a.example.com/mcp/%2e%2e/admin":         false,
		"https://a.example.com/other":                    false,
		"https://example.com/mcp/x":                      false,
		"http://a.example.com/mcp/x":                     false,
		"https://a.example.com:444/mcp/x":                false,
		"https://evil.com/a.example.com/mcp/x":           false,
		"https://evil.com/?https://a.example.com/mcp/x":  false,
		"https://evil.com#.example.com/mcp/x":            false,
		"https://a.example.com.evil.com/mcp/x":           false,
		"https://a.example.com@evil.com/mcp/x":           false,
		"https://evil.com\\.example.com/mcp/x":           false,
		"http://127.0.0.1:8080/":                         true,
		"http://127.0.0.1:8080":                          true,
		"http://127.0.0.1.evil.com:8080/":                false,
		"https://exact.example.org:8443/mcp":             true,
		"https://exact.example.org:8443/mcp/more":        false,
		"https://\u0430.example.com/mcp/x":               false,
		"https://[::1]/mcp/x":                            false,
		"https://a.example.com/mcp/x%3f/../../../admin/": false,
	} {
		if err := p.Check(remote(url)); (err == nil) != want {
			t.Errorf("%s: got %v, want allowed: %v", url, err, want)
		}
	}
	if err := p.Check(&host.Upstream{Key: "s", Target: mcpclient.Socket("unix", "/run/a.sock")}); err != nil {
		t.Error(err)
	}
	if err := p.Check(&host.Upstream{Key: "s", Target: mcpclient.Socket("unix", "/run/../tmp/a.sock")}); err == nil {
		t.Error("got a socket elsewhere allowed")
	}
}

func TestOtherSpellingsOfAURLAreDenied(t *testing.T) {
	t.Parallel()
	p := loaded(t, `{"servers": {"deny": [{"url": "http://127.0.0.1:18080"}, {"url": "http://[2001:db8::1]:080"}, {"url": "http://evil.example:*/mcp"}, {"url": "http://[::1]"}]}}`)
	if len(p.Problems) > 0 {
		t.Fatalf("got problems %q", p.Problems)
	}
	for url, want := range map[string]bool{
		"http://127.0.0.1:18080/":                   false,
		"http://127.0.0.1:018080/":                  false,
		"http://127.0.0.1.:18080/":                  false,
		"http://[::ffff:127.0.0.1]:18080/":          false,
		"http://[::FFFF:7f00:1]:18080/":             false,
		"http://[0:0:0:0:0:ffff:127.0.0.1]:18080/x": false,
		"http://0.0.0.0:18080/":                     false,
		"http://127.1:18080/":                       false,
		"http://2130706433:18080/":                  false,
		"http://0x7f000001:18080/":                  false,
		"http://0x7F.0.0.0x1:18080/":                false,
		"http://017700000001:18080/":                false,
		"http://127.0.0.01:18080/":                  false,
		"http://127.0.0.1:18081/":                   true,
		"http://[2001:DB8:0::1]/":                   false,
		"http://[2001:db8::0.0.0.1]:00080/":         false,
		"http://[2001:db8::2]/":                     true,
		"http://[::1%25lo]/":                        false,
		"http://[::]/":                              false,
		"http://[0::0:1]:0080/":                     false,
		"http://EVIL.example.:1/mcp":                false,
		"http://evil.example..:1/mcp":               false,
		"http://evil%2eexample:1/mcp":               true, // no server can be reached by it
		"http://evil.example:1/x/../%6dcp":          false,
		"http://evil.example:1/other":               true,
		"http://example.x7f":                        true,
		"http://1.2.3.example/":                     true,
	} {
		if err := p.Check(remote(url)); (err == nil) != want {
			t.Errorf("%s: got %v, want allowed: %v", url, err, want)
		}
	}
	if p := loaded(t, `{"servers": {"deny": [{"url": "http://127.1"}, {"url": "http://evil%2eexample"}, {"url": "http://[::1%25lo]/"}]}}`); len(p.Problems) != 3 {
		t.Errorf("got problems %q, want one for each pattern that would match nothing", p.Problems)
	}
}

func TestSocketsAreDeniedByEachPath(t *testing.T) {
	t.Parallel()
	dir := linkedTree(t)
	link := filepath.Join(dir, "user", "socket")
	if err := os.Symlink(filepath.Join(dir, "managed", "server"), link); err != nil {
		t.Fatal(err)
	}
	socket := func(path string) *host.Upstream {
		return &host.Upstream{Key: "s", Target: mcpclient.Socket("unix", path)}
	}
	for pattern, path := range map[string]string{"/managed/server": link, "/user/socket": dir + "/managed/server", "/managed/*": link} {
		if loaded(t, fmt.Sprintf(`{"servers": {"deny": [{"url": "unix://%s"}]}}`, dir+pattern)).Check(socket(path)) == nil {
			t.Errorf("%s: got %s allowed", pattern, path)
		}
	}
	p := loaded(t, fmt.Sprintf(`{"servers": {"allow": [{"url": "unix://%s/managed/*"}]}}`, dir))
	for path, want := range map[string]bool{"/managed/server": true, "/user/socket": false, "/user/link/../../managed/server": false} {
		if err := p.Check(socket(dir + path)); (err == nil) != want {
			t.Errorf("%s: got %v, want allowed: %v", path, err, want)
		}
	}
}

func TestPatternOfAnOriginIsForAllItsPaths(t *testing.T) {
	t.Parallel()
	p := loaded(t, `{"servers": {"allow": [{"url": "https://good.example"}, {"url": "*://*.other.example"}], "deny": [{"url": "https://evil.other.example"}, {"url": "https://root.other.example/"}]}}`)
	for url, want := range map[string]bool{
		"https://good.example":                  true,
		"https://good.example/":                 true,
		"https://good.example/a/b?c":            true,
		"https://good.example:8443/":            false,
		"http://good.example/":                  false,
		"https://good.example.evil/":            false,
		"https://evil.other.example":            false,
		"https://evil.other.example/":           false,
		"https://evil.other.example/mcp":        false,
		"https://evil.other.example/a/../b/%2f": false,
		"https://root.other.example":            false,
		"https://root.other.example/mcp":        true,
	} {
		if err := p.Check(remote(url)); (err == nil) != want {
			t.Errorf("%s: got %v, want allowed: %v", url, err, want)
		}
	}
}

func TestDenialsWin(t *testing.T) {
	t.Parallel()
	p := loaded(t, `{"servers": {"allow": [{"name": "*"}], "deny": [{"name": "bad*"}, {"url": "*://*.evil.com/*"}, {"command": ["npx"]}, {"command": ["sh", "-c", "x"]}]}}`)
	for what, test := range map[string]struct {
		u    *host.Upstream
		want bool
	}{
		"by name":              {&host.Upstream{Key: "bad-one", Target: mcpclient.URL("https://example.com")}, false},
		"by URL":               {remote("http://WWW.Evil.Com.:8080/x"), false},
		"another URL":          {remote("https://evil.com.example.com"), true},
		"program by its name":  {&host.Upstream{Key: "a", Target: mcpclient.Command("/opt/somewhere/npx", "-y", "x")}, false},
		"exact command":        {&host.Upstream{Key: "a", Target: mcpclient.Command("/bin/sh", "-c", "x")}, false},
		"with other arguments": {&host.Upstream{Key: "a", Target: mcpclient.Command("/bin/sh", "-c", "y")}, true},
	} {
		err := p.Check(test.u)
		if (err == nil) != test.want || err != nil && (!errors.Is(err, policy.ErrDenied) || !strings.Contains(err.Error(), "servers.deny[")) {
			t.Errorf("%s: got %v, want allowed: %v", what, err, test.want)
		}
	}
}

func TestProgramsAreAllowedByPathArgumentsAndVariables(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are those of Unix")
	}
	dir := t.TempDir()
	program, link := filepath.Join(dir, "server"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755), os.Symlink(program, link)); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(other, []byte("#!/bin/sh\nexit\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("#!/bin/sh\n"))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	byCommand := loaded(t, fmt.Sprintf(`{"servers": {"allow": [{"command": [%q, "--root", "/srv"], "env": ["TOKEN", "LC_*"]}]}}`, program))
	byDigest := loaded(t, fmt.Sprintf(`{"servers": {"allow": [{"digest": %q}]}}`, digest))
	denied := loaded(t, fmt.Sprintf(`{"servers": {"deny": [{"digest": %q}]}}`, digest))
	for what, test := range map[string]struct {
		p    *policy.Policy
		u    mcpclient.CommandTarget
		want bool
	}{
		"as it is":                     {byCommand, mcpclient.CommandTarget{Path: program, Args: []string{"--root", "/srv"}}, true},
		"by a link":                    {byCommand, mcpclient.CommandTarget{Path: link, Args: []string{"--root", "/srv"}}, true},
		"from its directory":           {byCommand, mcpclient.CommandTarget{Path: "./server", Dir: dir, Args: []string{"--root", "/srv"}}, true},
		"other arguments":              {byCommand, mcpclient.CommandTarget{Path: program, Args: []string{"--root", "/"}}, false},
		"more arguments":               {byCommand, mcpclient.CommandTarget{Path: program, Args: []string{"--root", "/srv", "x"}}, false},
		"another program of that name": {byCommand, mcpclient.CommandTarget{Path: other, Args: []string{"--root", "/srv"}}, false},
		"by a PATH of its own":         {byCommand, mcpclient.CommandTarget{Path: "server", Args: []string{"--root", "/srv"}, Env: map[string]string{"PATH": filepath.Dir(other)}}, false},
		"a variable that is named":     {byCommand, mcpclient.CommandTarget{Path: program, Args: []string{"--root", "/srv"}, Env: map[string]string{"TOKEN": "x", "LC_ALL": "C"}}, true},
		"a variable that is not":       {byCommand, mcpclient.CommandTarget{Path: program, Args: []string{"--root", "/srv"}, Env: map[string]string{"LD_PRELOAD": "x"}}, false},
		"by its digest":                {byDigest, mcpclient.CommandTarget{Path: link, Args: []string{"any"}}, true},
		"another digest":               {byDigest, mcpclient.CommandTarget{Path: other}, false},
		"denied by its digest":         {denied, mcpclient.CommandTarget{Path: program}, false},
		"denied as an argument":        {denied, mcpclient.CommandTarget{Path: "/bin/sh", Args: []string{"server"}, Dir: dir}, false},
		"not denied":                   {denied, mcpclient.CommandTarget{Path: other}, true},
		"a program that is not there":  {byDigest, mcpclient.CommandTarget{Path: "/nowhere/server"}, false},
	} {
		if err := test.p.Check(&host.Upstream{Key: "p", Target: &test.u}); (err == nil) != test.want {
			t.Errorf("%s: got %v, want allowed: %v", what, err, test.want)
		}
	}
}

func TestProgramsAreDeniedByTheirDirectory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links of Windows need a privilege")
	}
	dir, other := t.TempDir(), t.TempDir()
	below, link := filepath.Join(dir, "below"), filepath.Join(other, "link")
	if err := errors.Join(os.Mkdir(below, 0o700), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	byDir := loaded(t, fmt.Sprintf(`{"servers": {"deny": [{"dir": %q}]}}`, dir))
	byLink := loaded(t, fmt.Sprintf(`{"servers": {"deny": [{"dir": %q}]}}`, link))
	byHere := loaded(t, fmt.Sprintf(`{"servers": {"deny": [{"dir": %q}]}}`, here))
	byBoth := loaded(t, fmt.Sprintf(`{"servers": {"deny": [{"dir": %q, "command": ["sh"]}]}}`, dir))
	for _, p := range []*policy.Policy{byDir, byLink, byHere, byBoth} {
		if len(p.Problems) > 0 {
			t.Errorf("got problems %q", p.Problems)
		}
	}
	for what, test := range map[string]struct {
		p    *policy.Policy
		u    mcpclient.Target
		want bool
	}{
		"in the directory":             {byDir, &mcpclient.CommandTarget{Path: "/bin/true", Dir: dir}, false},
		"with a slash":                 {byDir, &mcpclient.CommandTarget{Path: "/bin/true", Dir: dir + "/"}, false},
		"by another way":               {byDir, &mcpclient.CommandTarget{Path: "/bin/true", Dir: below + "/.."}, false},
		"by a link":                    {byDir, &mcpclient.CommandTarget{Path: "/bin/true", Dir: link}, false},
		"what the link leads to":       {byLink, &mcpclient.CommandTarget{Path: "/bin/true", Dir: dir}, false},
		"below it":                     {byDir, &mcpclient.CommandTarget{Path: "/bin/true", Dir: below}, true},
		"elsewhere":                    {byDir, &mcpclient.CommandTarget{Path: "/bin/true", Dir: other}, true},
		"no program":                   {byDir, mcpclient.URL("https://example.com"), true},
		"the directory of the process": {byHere, mcpclient.Command("/bin/true"), false},
		"the program and directory":    {byBoth, &mcpclient.CommandTarget{Path: "/bin/sh", Dir: dir}, false},
		"the program elsewhere":        {byBoth, &mcpclient.CommandTarget{Path: "/bin/sh", Dir: other}, true},
		"another program there":        {byBoth, &mcpclient.CommandTarget{Path: "/bin/true", Dir: dir}, true},
	} {
		if err := test.p.Check(&host.Upstream{Key: "p", Target: test.u}); (err == nil) != test.want {
			t.Errorf("%s: got %v, want allowed: %v", what, err, test.want)
		}
	}
	if p := loaded(t, fmt.Sprintf(`{"servers": {"allow": [{"dir": %q}]}}`, dir)); len(p.Problems) != 1 {
		t.Errorf("got problems %q, want one for an entry that would allow every program there", p.Problems)
	}
}

func TestContentThatWasAdmittedDecidesAndNoLaterOne(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as the files of an approval are
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "server")
	if err := os.WriteFile(program, []byte("now"), 0o755); err != nil {
		t.Fatal(err)
	}
	digest := func(content string) string {
		sum := sha256.Sum256([]byte(content))
		return hex.EncodeToString(sum[:])
	}
	allow := func(content string) *policy.Policy {
		return loaded(t, `{"servers": {"allow": [{"digest": "sha256:`+digest(content)+`"}]}}`)
	}
	deny := func(content string) *policy.Policy {
		return loaded(t, `{"servers": {"deny": [{"digest": "sha256:`+digest(content)+`"}]}}`)
	}
	files := []host.ProgramFile{{Path: program, SHA256: digest("admitted")}, {Path: "/srv/script", SHA256: digest("script")}}
	for what, test := range map[string]struct {
		p     *policy.Policy
		files []host.ProgramFile
		want  bool
	}{
		"allowed as it is now":            {allow("now"), nil, true},
		"only the later content allowed":  {allow("now"), files, false},
		"the admitted content allowed":    {allow("admitted"), files, true},
		"the script of a program allowed": {allow("script"), files, false},
		"the admitted content denied":     {deny("admitted"), files, false},
		"the script denied":               {deny("script"), files, false},
		"the later content denied":        {deny("now"), files, true},
	} {
		u := &host.Upstream{Key: "p", Target: mcpclient.Command(program), Files: test.files}
		if err := test.p.Check(u); (err == nil) != test.want {
			t.Errorf("%s: got %v, want allowed: %v", what, err, test.want)
		}
	}
}

func TestUnreadableEntryDropsNoOther(t *testing.T) {
	t.Parallel()
	p := loaded(t, `{"servers": {
		"allow": [{"url": 5}, "x", {"command": ["npx"]}, {"nmae": "a"}, {"name": "good"}, {"name": "half", "urll": "https://x"}, null,
			{"command": ["/usr/bin/true", null]}, {"name": null}, {"name": "half", "env": null}],
		"deny": [{"digest": "md5:1"}, {"name": "bad", "comand": ["x"]}, {"url": "no pattern"}, {}, null, {"url": "https://evil.com/*"}]
	}}`)
	if len(p.Problems) != 14 {
		t.Errorf("got problems %q, want one for each entry that cannot be used", p.Problems)
	}
	for key, want := range map[string]bool{"good": true, "half": false, "a": false, "bad": false, "x": false} {
		if err := p.Check(&host.Upstream{Key: key, Target: mcpclient.URL("https://example.com")}); (err == nil) != want {
			t.Errorf("%s: got %v, want allowed: %v", key, err, want)
		}
	}
	if err := p.Check(&host.Upstream{Key: "good", Target: mcpclient.URL("https://evil.com")}); err == nil {
		t.Error("got the URL of a readable entry allowed")
	}
	none := loaded(t, `{"servers": {"allow": [{"nmae": "a"}]}}`)
	if err := none.Check(remote("https://example.com")); err == nil {
		t.Error("got a server allowed by a list of which no entry can be read")
	}
}

func TestReferencesAreDecidedAtTheStart(t *testing.T) {
	t.Parallel()
	p := loaded(t, `{"servers": {"allow": [{"url": "https://good.com/*"}], "deny": [{"name": "bad"}]}}`)
	u := remote("${env:WHERE}")
	u.Source = &host.Source{URL: host.Text{Written: "${env:WHERE}", References: []host.Reference{{Kind: host.VariableReference, Name: "WHERE"}}}}
	u.Resolve = func(context.Context) (*host.Upstream, error) { return remote("https://evil.com"), nil }
	if v := p.Explain(u); !v.Undecided || p.Check(u) != nil {
		t.Errorf("got %+v, want it undecided", v)
	}
	resolved, err := u.Resolved(t.Context())
	if err != nil || p.Check(resolved) == nil {
		t.Errorf("got %v, want what it leads to denied", err)
	}
	u.Key = "bad"
	if p.Check(u) == nil {
		t.Error("got a denied name allowed")
	}
}

func TestPolicyThatOthersCanChangeStopsEverything(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes of files")
	}
	write := func(t *testing.T) (dir, path string) {
		dir = filepath.Join(t.TempDir(), "fondaco")
		path = filepath.Join(dir, "policy.json")
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(path, []byte(`{}`), 0o644)); err != nil {
			t.Fatal(err)
		}
		return dir, path
	}
	for what, change := range map[string]func(dir, path string) error{
		"file that all can write":      func(_, path string) error { return os.Chmod(path, 0o646) },
		"file that a group can write":  func(_, path string) error { return os.Chmod(path, 0o664) },
		"directory that all can write": func(dir, _ string) error { return os.Chmod(dir, 0o777) },
		"link": func(dir, path string) error {
			return errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path))
		},
		"link to nothing":                  func(dir, path string) error { return errors.Join(os.Remove(path), os.Symlink(path+"x", path)) },
		"directory in its place":           func(_, path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
		"no JSON":                          func(_, path string) error { return os.WriteFile(path, []byte(`{"servers": `), 0o644) },
		"a member that is unknown":         func(_, path string) error { return os.WriteFile(path, []byte(`{"server": {}}`), 0o644) },
		"an empty file":                    func(_, path string) error { return os.WriteFile(path, nil, 0o644) },
		"null":                             func(_, path string) error { return os.WriteFile(path, []byte(`null`), 0o644) },
		"an array":                         func(_, path string) error { return os.WriteFile(path, []byte(`[]`), 0o644) },
		"null servers":                     func(_, path string) error { return os.WriteFile(path, []byte(`{"servers": null}`), 0o644) },
		"an array of servers":              func(_, path string) error { return os.WriteFile(path, []byte(`{"servers": []}`), 0o644) },
		"null for what is allowed":         func(_, path string) error { return os.WriteFile(path, []byte(`{"servers": {"allow": null}}`), 0o644) },
		"null for what is denied":          func(_, path string) error { return os.WriteFile(path, []byte(`{"servers": {"deny": null}}`), 0o644) },
		"null trust":                       func(_, path string) error { return os.WriteFile(path, []byte(`{"trust": null}`), 0o644) },
		"null dev":                         func(_, path string) error { return os.WriteFile(path, []byte(`{"dev": null}`), 0o644) },
		"a null audit log":                 func(_, path string) error { return os.WriteFile(path, []byte(`{"audit": null}`), 0o644) },
		"null in the audit log":            func(_, path string) error { return os.WriteFile(path, []byte(`{"audit": {"first": null}}`), 0o644) },
		"null flags":                       func(_, path string) error { return os.WriteFile(path, []byte(`{"forbiddenFlags": null}`), 0o644) },
		"a null flag":                      func(_, path string) error { return os.WriteFile(path, []byte(`{"forbiddenFlags": [null]}`), 0o644) },
		"a list of another type":           func(_, path string) error { return os.WriteFile(path, []byte(`{"servers": {"deny": "x"}}`), 0o644) },
		"more than a MiB":                  func(_, path string) error { return os.WriteFile(path, make([]byte, 1<<20+1), 0o644) },
		"an audit log that is not defined": func(_, path string) error { return os.WriteFile(path, []byte(`{"audit": {"keep": "x"}}`), 0o644) },
	} {
		dir, path := write(t)
		if err := change(dir, path); err != nil {
			t.Fatal(err)
		}
		if p, err := at(path, os.Getuid()).Load(); err == nil || p != nil || !strings.Contains(err.Error(), "no server is run") {
			t.Errorf("%s: got %+v, %v, want an error", what, p, err)
		}
	}
	_, path := write(t)
	if os.Getuid() != 0 {
		if _, err := at(path, 0).Load(); err == nil {
			t.Error("got no error for a file of another user than the administrator")
		}
	} else {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, err := at(path, 0).Load(); err == nil || !strings.Contains(err.Error(), "user with id 12345") {
			t.Errorf("got %v, want the owner named", err)
		}
	}
}

func TestEnvironmentDoesNotMoveThePolicy(t *testing.T) {
	place := policy.System().String()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "FONDACO_POLICY", "ProgramData", "ALLUSERSPROFILE", "FONDACO_CONFIG"} {
		t.Setenv(name, t.TempDir())
	}
	if now := policy.System().String(); now != place {
		t.Errorf("got %s, want %s", now, place)
	}
}

func TestAuditIsAsStrictAsThePolicyWants(t *testing.T) {
	t.Parallel()
	p := loaded(t, `{"audit": {"first": true, "keep": "8760h", "syslog": "tls://log.example.com:6514", "requireSyslog": true, "otlp": "https://otel.example.com"}}`)
	want := host.AuditSettings{First: true, Keep: 8760 * time.Hour, Size: 1, Syslog: "tls://log.example.com:6514", RequireSyslog: true, OTLP: "https://otel.example.com"}
	if got := p.Audit(host.AuditSettings{Keep: time.Hour, Size: 1, Syslog: "udp://mine:1", OTLP: "http://mine:1"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := p.Audit(host.AuditSettings{Keep: 10000 * time.Hour}); got.Keep != 10000*time.Hour {
		t.Errorf("got %v, want the longer time", got.Keep)
	}
	own := host.AuditSettings{Syslog: "udp://mine:1", OTLP: "http://mine:1"}
	for _, lax := range []string{`{}`, `{"audit": {}}`} {
		if got := loaded(t, lax).Audit(own); got != own {
			t.Errorf("%s: got %+v, want what the user has set", lax, got)
		}
	}
}

func TestFlagsAreForbiddenByName(t *testing.T) {
	t.Parallel()
	p := loaded(t, `{"forbiddenFlags": ["--insecure-no-auth", "yes"]}`)
	if got := p.ForbiddenFlag([]string{"config", "yes"}); got != "yes" {
		t.Errorf("got %q, want yes", got)
	}
	if got := p.ForbiddenFlag([]string{"config"}); got != "" {
		t.Errorf("got %q, want none", got)
	}
	lines := p.Describe()
	if !slices.Contains(lines, "forbidden flag: insecure-no-auth") {
		t.Errorf("got %q", lines)
	}
}

func TestForbiddenFlagThatDoesNotExistStopsEverything(t *testing.T) {
	t.Parallel()
	known := []string{"yes", "url"}
	for content, want := range map[string]string{
		`{}`: "", `{"forbiddenFlags": ["--yes", "url"]}`: "",
		`{"forbiddenFlags": ["yes", "--ur"]}`: `forbiddenFlags[1]: found "ur"`, `{"forbiddenFlags": ["--"]}`: `forbiddenFlags[0]: found ""`, `{"forbiddenFlags": ["--yes=true"]}`: `found "yes=true"`,
	} {
		err := loaded(t, content).CheckFlags(known)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "no server is run")) {
			t.Errorf("%s: got %v, want %q", content, err, want)
		}
	}
}

func TestDevHasNoEffectIfThePolicySaysSo(t *testing.T) {
	t.Parallel()
	u := host.Upstream{Key: "a", Settings: host.Settings{Dev: true}}
	if got, changed := loaded(t, `{"dev": false}`).Restrict(u); got.Settings.Dev || len(changed) != 1 {
		t.Errorf("got %+v, %q, want dev switched off", got.Settings, changed)
	}
	if got, changed := loaded(t, `{}`).Restrict(u); !got.Settings.Dev || changed != nil {
		t.Errorf("got %+v, %q, want dev as it is", got.Settings, changed)
	}
}

func TestTrustIsAsStrictAsThePolicyWants(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ policy, own, want host.Trust }{
		{"baseline", "auto", "baseline"},
		{"baseline", "", "baseline"},
		{"baseline", "ask", "ask"},
		{"ask", "auto", "ask"},
		{"ask", "", "ask"},
		{"auto", "auto", "auto"},
		{"none", "auto", "ask"}, // what is misspelt is the strictest
	} {
		u := host.Upstream{Key: "a", Settings: host.Settings{Trust: test.own, Dynamic: true}}
		got, _ := loaded(t, fmt.Sprintf(`{"trust": %q}`, test.policy)).Restrict(u)
		if got.Trust() != test.want || got.Settings.Dynamic != (test.want != "ask" || test.own == "ask" && test.policy != "ask") {
			t.Errorf("%s under %s: got %s, dynamic %v, want %s", test.own, test.policy, got.Trust(), got.Settings.Dynamic, test.want)
		}
	}
}
