package consent_test

import (
	"bufio"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func open(t *testing.T) (*consent.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state", "approvals")
	b, err := consent.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b, dir
}

// program writes an executable file and returns the upstream that it is.
func program(t *testing.T, content string) (*host.Upstream, *mcpclient.CommandTarget) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.exe")
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	target := mcpclient.Command(path, "--root", "a b")
	target.Env = map[string]string{"KEY": "secret value"}
	return &host.Upstream{Key: "files", Target: target}, target
}

func approve(t *testing.T, b *consent.Store, u *host.Upstream) {
	t.Helper()
	p, isProgram, err := b.ProgramOf(u)
	if err != nil || !isProgram {
		t.Fatalf("got %v, %v, want a program", isProgram, err)
	}
	if err := b.Approve(u, p); err != nil {
		t.Fatal(err)
	}
}

func TestProgramIsAdmittedOnlyAsItWasApproved(t *testing.T) {
	t.Parallel()
	changes := map[string]func(t *testing.T, u *host.Upstream, c *mcpclient.CommandTarget){
		"arguments": func(_ *testing.T, _ *host.Upstream, c *mcpclient.CommandTarget) { c.Args = []string{"--root", "/"} },
		"split differently": func(_ *testing.T, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Args = []string{"--root", "a", "b"}
		},
		"working directory": func(t *testing.T, _ *host.Upstream, c *mcpclient.CommandTarget) { c.Dir = t.TempDir() },
		"another variable": func(_ *testing.T, _ *host.Upstream, c *mcpclient.CommandTarget) {
			c.Env["NODE_OPTIONS"] = "--require x"
		},
		"content":            func(t *testing.T, _ *host.Upstream, c *mcpclient.CommandTarget) { overwrite(t, c.Path, "#!other") },
		"same length":        func(t *testing.T, _ *host.Upstream, c *mcpclient.CommandTarget) { overwrite(t, c.Path, "#!/bin/SH") },
		"a file of the name": func(t *testing.T, _ *host.Upstream, c *mcpclient.CommandTarget) { c.Path = copyOf(t, c.Path) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := open(t)
			u, c := program(t, "#!/bin/sh")
			if _, err := b.Admit(u); !errors.Is(err, host.ErrNeedsApproval) || !strings.HasSuffix(err.Error(), "server.exe --root 'a b'") {
				t.Fatalf("got %v, want the command that needs approval", err)
			}
			approve(t, b, u)
			target, err := b.Admit(u)
			if admitted, ok := target.(*mcpclient.CommandTarget); err != nil || !ok || admitted.Path != c.Path || !slices.Equal(admitted.Args, c.Args) {
				t.Fatalf("got %v, %v, want what was approved", target, err)
			}
			c.Env["KEY"] = "another value"
			if _, err := b.Admit(u); err != nil {
				t.Errorf("got %v, want values of variables not to count", err)
			}
			change(t, u, c)
			if _, err := b.Admit(u); !errors.Is(err, host.ErrNeedsApproval) {
				t.Errorf("got %v, want it to need approval again", err)
			}
		})
	}
}

func overwrite(t *testing.T, path, content string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil { // as somebody does who wants to be overlooked
		t.Fatal(err)
	}
}

func copyOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "server.exe")
	if err := os.WriteFile(copied, content, 0o700); err != nil {
		t.Fatal(err)
	}
	return copied
}

func TestCommandNameIsResolvedToTheApprovedFile(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		if err := os.WriteFile(filepath.Join(d, "server.exe"), []byte("#!"+d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	target := mcpclient.Command("server.exe")
	target.Env = map[string]string{"PATH": dir}
	u := &host.Upstream{Key: "files", Target: target}
	approve(t, b, u)
	admitted, err := b.Admit(u)
	if err != nil || admitted.(*mcpclient.CommandTarget).Path != filepath.Join(dir, "server.exe") {
		t.Errorf("got %v, %v, want the file itself", admitted, err)
	}
	target.Env["PATH"] = other
	if _, err := b.Admit(u); !errors.Is(err, host.ErrNeedsApproval) {
		t.Errorf("got %v, want another file of the name to need approval", err)
	}
	target.Env["PATH"] = t.TempDir()
	if _, err := b.Admit(u); err == nil || errors.Is(err, host.ErrNeedsApproval) {
		t.Errorf("got %v, want the reason why there is none", err)
	}
}

func TestCommandIsShownQuotedAndEscaped(t *testing.T) {
	t.Parallel()
	p := consent.Program{Command: "npx", Args: []string{"-y", "it's", "", "a\u202eb", strings.Repeat("x", 5000)}}
	want := `npx -y 'it'\''s' '' 'a\u202eb' ` + strings.Repeat("x", 5000)
	if got := p.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestApprovalCoversValuesOfVariablesThatChooseTheProgram(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	u, c := program(t, "#!/bin/sh")
	c.Env["LD_PRELOAD"] = "a.so"
	p, _, err := b.ProgramOf(u)
	if err != nil || !slices.Equal(p.Env, []string{"KEY", "LD_PRELOAD=a.so"}) {
		t.Errorf("got %q, %v, want the name of one and the value of the other", p.Env, err)
	}
	approve(t, b, u)
	c.Env["LD_PRELOAD"] = "b.so"
	if _, err := b.Admit(u); !errors.Is(err, host.ErrNeedsApproval) {
		t.Errorf("got %v, want another value to need approval", err)
	}
}

func TestRemoteServersNeedNoApproval(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	u := &host.Upstream{Key: "remote", Target: mcpclient.URL("https://example.com/mcp")}
	if target, err := b.Admit(u); err != nil || target != u.Target {
		t.Errorf("got %v, %v, want it as it is", target, err)
	}
}

func tool(name, description string) mcp.Tool {
	return mcp.Tool{Name: name, Description: description, InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
}

func names(tools []mcp.Tool) (all []string) {
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return all
}

func TestToolIsWithheldWhenItsDefinitionChanges(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*mcp.Tool){
		"-\"description\": \"Read\"": func(t *mcp.Tool) { t.Description = "Read, and send to evil.example" },
		"+  \"title\": \"Other\"":    func(t *mcp.Tool) { t.Title = "Other" },
		"+      \"b\": {":            func(t *mcp.Tool) { t.InputSchema = jsontext.Value(`{"type":"object","properties":{"b":{}}}`) },
		"+  \"outputSchema\": {":     func(t *mcp.Tool) { t.OutputSchema = jsontext.Value(`{"type":"object"}`) },
		"+    \"readOnlyHint\"":      func(t *mcp.Tool) { t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: new(true)} },
		"+  \"_meta\": {":            func(t *mcp.Tool) { t.Meta = mcp.Meta{"com.example/a": jsontext.Value("1")} },
		`Read\udb40\udc41`:           func(t *mcp.Tool) { t.Description = "Read\U000E0041" },
	}
	for want, change := range changes {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b, _ := open(t)
			u, _ := program(t, "x")
			tools := []mcp.Tool{tool("read", "Read"), tool("write", "Write")}
			if kept, withheld, err := b.FilterTools(u, tools); err != nil || len(kept) != 2 || len(withheld) != 0 {
				t.Fatalf("got %v, %v, %v, want what is new pinned", names(kept), withheld, err)
			}
			slices.Reverse(tools)
			tools[1].InputSchema = jsontext.Value(`{"properties": {"a": {"type": "string"}}, "type": "object"}`)
			tools[1].Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskOptional}
			if kept, _, err := b.FilterTools(u, tools); err != nil || len(kept) != 2 {
				t.Fatalf("got %v, %v, want order and layout not to count", names(kept), err)
			}
			change(&tools[1])
			kept, withheld, err := b.FilterTools(u, tools)
			if err != nil || !slices.Equal(names(kept), []string{"write"}) || len(withheld) != 1 || withheld[0].Tool != "read" {
				t.Fatalf("got %v, %+v, %v, want the changed one withheld", names(kept), withheld, err)
			}
			if diff := withheld[0].Diff; !strings.Contains(strings.ReplaceAll(diff, "-  \"", "-\""), want) || strings.Contains(diff, "write") {
				t.Errorf("got %s, want %s", diff, want)
			}
			if err := b.ApproveTool(u, withheld[0]); err != nil {
				t.Fatal(err)
			}
			if kept, withheld, err := b.FilterTools(u, tools); err != nil || len(kept) != 2 || len(withheld) != 0 {
				t.Errorf("got %v, %v, %v, want the change approved", names(kept), withheld, err)
			}
		})
	}
}

// What is approved is the repaired text, however the server spells it.
func TestToolIsApprovedInEverySpellingOfARepairedText(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	u, _ := program(t, "x")
	for _, spelling := range []string{`\ud83d`, `\ufffd`, "\ufffd", "\xff"} {
		kept, withheld, err := b.FilterTools(u, listed(t, `{"name":"read","description":"`+spelling+`","inputSchema":{"type":"object","title":"`+spelling+`"}}`))
		if err != nil || len(kept) != 1 || len(withheld) != 0 {
			t.Errorf("%q: got %v, %v, %v, want the tool kept", spelling, names(kept), withheld, err)
		}
	}
}

// listed returns the tools that a client gets from a server that lists one definition.
func listed(t *testing.T, definition string) []mcp.Tool {
	t.Helper()
	ours, theirs := net.Pipe()
	var server sync.WaitGroup
	server.Go(func() {
		for lines := bufio.NewScanner(theirs); lines.Scan(); {
			var m struct {
				ID     jsontext.Value `json:"id"`
				Method string         `json:"method"`
			}
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				return
			}
			result := map[string]string{
				"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`,
				"tools/list": `{"tools":[` + definition + `]}`,
			}[m.Method]
			if result != "" {
				fmt.Fprintf(theirs, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
			}
		}
	})
	defer server.Wait()
	defer theirs.Close()
	target := mcpclient.Stream(ours)
	c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var tools []mcp.Tool
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	return tools
}

func TestApprovalCoversOnlyTheShownDefinition(t *testing.T) {
	t.Parallel()
	b, dir := open(t)
	u, _ := program(t, "x")
	screen := func(description string) []host.Withheld {
		_, withheld, err := b.FilterTools(u, []mcp.Tool{tool("read", description)})
		if err != nil {
			t.Fatal(err)
		}
		return withheld
	}
	screen("Read")
	seen := screen("Read more")
	screen("Read everything")
	if err := b.ApproveTool(u, seen[0]); err == nil || !strings.Contains(err.Error(), "changed again") {
		t.Errorf("got %v, want an approval of something else refused", err)
	}
	again, err := consent.Open(dir) // as another process sees it
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := again.Withheld(u)
	if err != nil || len(waiting) != 1 || !strings.Contains(waiting[0].Diff, "Read everything") {
		t.Errorf("got %+v, %v, want what was seen last", waiting, err)
	}
	if screen("Read"); len(screen("Read")) != 0 {
		t.Error("want a tool that has come back to what was approved offered again")
	}
	if err := again.ApproveTool(u, waiting[0]); err == nil || !strings.Contains(err.Error(), "no change waits") {
		t.Errorf("got %v, want nothing to approve", err)
	}
}

// A server that always lists new tools fills no disk, and makes the host forget no approval.
func TestDefinitionsOfOneServerAreLimited(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	b, _ := open(t)
	u, _ := program(t, "x")
	filter := func(tools ...mcp.Tool) (kept, withheld int) {
		t.Helper()
		k, w, err := b.FilterTools(u, tools)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range w {
			if one.Diff == "" {
				t.Errorf("%s: withheld without a reason", one.Tool)
			}
		}
		return len(k), len(w)
	}
	filter(tool("read", "Read"))
	if kept, withheld := filter(tool("long", strings.Repeat("x", 17<<20))); kept != 0 || withheld != 1 {
		t.Errorf("a long definition: got %d kept, %d withheld, want it withheld", kept, withheld)
	}
	var many []mcp.Tool
	for i := range 20_010 {
		many = append(many, tool(fmt.Sprint("t", i), "Read"))
	}
	if kept, withheld := filter(many...); kept != 19_999 || withheld != 11 {
		t.Errorf("got %d kept, %d withheld, want 20000 with the first", kept, withheld)
	}
	if kept, withheld := filter(tool("read", "Read something else"), tool("new", "New")); kept != 0 || withheld != 2 {
		t.Errorf("changed: got %d kept, %d withheld, want both withheld", kept, withheld)
	}
	if kept, _ := filter(tool("read", "Read")); kept != 1 {
		t.Errorf("as approved: got %d kept, want it", kept)
	}
}

func TestApprovalDoesNotCoverAnotherServerOfTheSameName(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	one, c := program(t, "x")
	approve(t, b, one)
	_, _, _ = b.FilterTools(one, []mcp.Tool{tool("read", "Read")})
	moved := *c
	moved.Args = []string{"--other"}
	two := &host.Upstream{Key: one.Key, Target: &moved}
	if _, err := b.Admit(two); !errors.Is(err, host.ErrNeedsApproval) {
		t.Errorf("got %v, want the name not to count", err)
	}
	if kept, _, err := b.FilterTools(two, []mcp.Tool{tool("read", "Read something else")}); err != nil || len(kept) != 1 {
		t.Errorf("got %v, %v, want tools of its own", names(kept), err)
	}
	if _, err := b.Admit(one); err != nil {
		t.Errorf("got %v, want the first one still approved", err)
	}
}

func TestFilesAreReadableByTheUserOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	b, dir := open(t)
	u, _ := program(t, "x")
	approve(t, b, u)
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: got mode %o, want none for others", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnreadableStoreApprovesNothing(t *testing.T) {
	t.Parallel()
	b, dir := open(t)
	u, _ := program(t, "x")
	approve(t, b, u)
	files, err := filepath.Glob(filepath.Join(dir, "files-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v, want one file", files, err)
	}
	if err := os.WriteFile(files[0], []byte(`{"programs"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Admit(u); err == nil || !strings.Contains(err.Error(), "remove the file to approve anew") {
		t.Errorf("got %v, want what to do", err)
	}
	if kept, _, err := b.FilterTools(u, []mcp.Tool{tool("read", "Read")}); err == nil || kept != nil {
		t.Errorf("got %v, %v, want nothing offered", names(kept), err)
	}
}

// approveTool is what the processes of the next test do: they see a tool, see it
// changed, and approve that.
func approveTool(b *consent.Store, name string) error {
	u := &host.Upstream{Key: "files", Target: mcpclient.URL("https://example.com/mcp")}
	for _, description := range []string{"before", "after"} {
		_, withheld, err := b.FilterTools(u, []mcp.Tool{tool(name, description)})
		if err != nil {
			return err
		}
		for _, w := range withheld {
			if err := b.ApproveTool(u, w); err != nil {
				return err
			}
		}
	}
	kept, _, err := b.FilterTools(u, []mcp.Tool{tool(name, "after")})
	if err == nil && len(kept) != 1 {
		err = fmt.Errorf("%s: the approval was lost", name)
	}
	return err
}

func TestConcurrentProcessesKeepAllApprovals(t *testing.T) {
	t.Parallel()
	b, dir := open(t)
	var work sync.WaitGroup
	want := make(map[string]bool)
	for i := range 8 {
		name := fmt.Sprintf("tool%d", i)
		want[name] = true
		work.Go(func() {
			cmd := exec.Command(os.Args[0], dir)
			cmd.Env = append(os.Environ(), role+"="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	work.Wait()
	u := &host.Upstream{Key: "files", Target: mcpclient.URL("https://example.com/mcp")}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, withheld, err := b.FilterTools(u, []mcp.Tool{tool(name, "other")}); err != nil || len(withheld) != 1 || !strings.Contains(withheld[0].Diff, "after") {
			t.Errorf("%s: got %+v, %v, want it pinned", name, withheld, err)
		}
	}
}
