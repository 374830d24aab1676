//go:build hostile && linux

package proof

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// managed is the fondaco program with another place for the managed policy, which is set when
// it is linked: nothing else moves it.
var managed = sync.OnceValues(func() (program string, err error) {
	dir, err := os.MkdirTemp("", "fondaco-managed")
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "fondaco")
	const variables = "github.com/fondaco/fondaco/host/policy."
	build := exec.Command("go", "build", "-ldflags", fmt.Sprintf("-X %stestPath=%s -X %stestOwner=%d", variables, filepath.Join(dir, "policy.json"), variables, os.Getuid()), "-o", program, "github.com/fondaco/fondaco/cmd/fondaco")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return program, nil
})

// managedUser is a user of a machine with a managed policy.
type managedUser struct {
	*hostUser
	program string
	policy  string // its path
}

// newManagedUser writes the policy. One attack at a time uses it.
func newManagedUser(t *testing.T, policy string) *managedUser {
	t.Helper()
	program, err := managed()
	if err != nil {
		t.Fatal(err)
	}
	u := &managedUser{newHostUser(t), program, filepath.Join(filepath.Dir(program), "policy.json")}
	t.Cleanup(func() { _ = os.RemoveAll(u.policy) })
	u.setPolicy(policy)
	return u
}

func (u *managedUser) setPolicy(policy string) {
	u.t.Helper()
	if err := os.WriteFile(u.policy, []byte(policy), 0o644); err != nil {
		u.t.Fatal(err)
	}
}

// try runs the program with further variables.
func (u *managedUser) try(env []string, args ...string) (output string, code int) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), replyTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, u.program, args...)
	c.Dir, c.Env, c.WaitDelay = u.home, append(u.env, env...), 5*time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && c.ProcessState == nil {
		u.t.Fatal(err)
	}
	return out.String(), c.ProcessState.ExitCode()
}

// wantDenied runs the program, which has to refuse.
func (u *managedUser) wantDenied(args ...string) {
	u.t.Helper()
	if output, code := u.try(nil, args...); code == 0 || !strings.Contains(output, "managed policy") {
		u.t.Errorf("%q: got %s, %d, want it denied by the managed policy", args, output, code)
	}
}

// canary returns a program that creates a file when it runs.
func (u *managedUser) canary(name string) (program string, ran func() bool) {
	u.t.Helper()
	mark := filepath.Join(u.home, name+".ran")
	program = u.write(name, "#!/bin/sh\n: >"+mark+"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		u.t.Fatal(err)
	}
	return program, func() bool { _, err := os.Stat(mark); return err == nil }
}

var policyAttacks = map[string]func(t *testing.T){
	"variables name another policy": func(t *testing.T) {
		u := newManagedUser(t, `{"servers": {"allow": []}}`)
		program, ran := u.canary("server")
		own := u.write("policy.json", `{}`)
		u.write("fondaco/policy.json", `{}`)
		for _, name := range []string{"FONDACO_POLICY", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "HOME", "ProgramData", "FONDACO_CONFIG"} {
			for _, value := range []string{own, u.home, ""} {
				if output, code := u.try([]string{name + "=" + value}, "tools", "--", program); code != 7 {
					t.Errorf("%s=%s: got %s, %d", name, value, output, code)
				}
			}
		}
		if ran() {
			t.Error("the program ran")
		}
	},
	"every way in is tried": func(t *testing.T) {
		u := newManagedUser(t, `{"servers": {"deny": [{"command": ["server"]}, {"url": "*://127.0.0.1:*/*"}]}}`)
		program, ran := u.canary("server")
		l := listenForLeaks(t)
		address := "http://" + l.Addr().String() + "/mcp"
		config := u.write("mcp.json", fmt.Sprintf(`{"mcpServers": {"a": {"command": %q}, "b": {"url": %q}}}`, program, address))
		u.write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {"a": {"command": %q}, "b": {"url": %q}}}`, program, address))
		u.wantDenied("add", "a", "--", program)
		u.wantDenied("add", "b", address)
		u.wantDenied("tools", "--", program)
		u.wantDenied("tools", "--url", address)
		u.wantDenied("tools", "--url", address, "--token", "t")
		u.wantDenied("auth", "login", address)
		u.wantDenied("auth", "login", "b", "--config", config)
		u.wantDenied("tools", "--config", config)
		u.wantDenied("call", "a/x", "--config", config)
		if output, code := u.try([]string{"FONDACO_URL=" + address}, "tools"); code != 7 {
			t.Errorf("by $FONDACO_URL: got %s, %d", output, code)
		}
		if output, _ := u.try(nil, "import", "--config", "imported.json"); strings.Count(output, "left out: ") < 2 {
			t.Errorf("import: got %s, want both left out", output)
		}
		if got := l.received.String(); ran() || got != "" {
			t.Errorf("the program ran: %v; the URL got %q", ran(), got)
		}
	},
	"a program takes the name of an allowed one": func(t *testing.T) {
		u := newManagedUser(t, `{"servers": {"allow": [{"command": ["/usr/bin/true"]}]}}`)
		program, ran := u.canary("bin/true")
		config := u.write("mcp.json", fmt.Sprintf(`{"mcpServers": {"true": {"command": "true", "env": {"PATH": %q}}, "other": {"command": %q}}}`, filepath.Dir(program), program))
		u.wantDenied("tools", "--config", config)
		if output, code := u.try([]string{"PATH=" + filepath.Dir(program)}, "tools", "--", "true"); code != 7 {
			t.Errorf("by PATH: got %s, %d", output, code)
		}
		if ran() {
			t.Error("the program ran")
		}
	},
	"an allowed program gets variables that load code": func(t *testing.T) {
		u := newManagedUser(t, `{"servers": {"allow": [{"command": ["/bin/sh"], "env": ["TOKEN"]}]}}`)
		u.write("mcp.json", `{"mcpServers": {"a": {"command": "/bin/sh", "env": {"LD_PRELOAD": "/tmp/x.so"}}, "b": {"command": "/bin/sh", "env": {"ENV": "/tmp/x", "TOKEN": "t"}}}}`)
		output, _ := u.try(nil, "tools", "--config", "mcp.json")
		if strings.Count(output, "denied by the managed policy") < 2 {
			t.Errorf("got %s, want both denied", output)
		}
	},
	"a denied program is copied and renamed": func(t *testing.T) {
		u := newManagedUser(t, `{}`)
		program, ran := u.canary("evil")
		content, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		u.setPolicy(fmt.Sprintf(`{"servers": {"deny": [{"digest": "sha256:%s"}]}}`, hex.EncodeToString(sum[:])))
		renamed := filepath.Join(u.home, "harmless")
		if err := errors.Join(os.Rename(program, renamed), os.Symlink(renamed, program)); err != nil {
			t.Fatal(err)
		}
		u.wantDenied("tools", "--", renamed)
		u.wantDenied("tools", "--", program)
		u.wantDenied("tools", "--", "/bin/sh", renamed)
		if ran() {
			t.Error("the program ran")
		}
	},
	"a reference leads to a denied URL": func(t *testing.T) {
		l := listenForLeaks(t)
		u := newManagedUser(t, `{"servers": {"allow": [{"url": "https://good.example/*"}]}}`)
		u.write("mcp.json", `{"mcpServers": {"a": {"url": "${env:WHERE}"}}}`)
		u.env = append(u.env, "WHERE=http://"+l.Addr().String()+"/mcp")
		for _, args := range [][]string{{"approve", "a", "--yes"}, {"tools"}, {"call", "a/x"}} {
			if output, code := u.try(nil, append(args, "--config", "mcp.json")...); code == 0 && args[0] != "approve" {
				t.Errorf("%q: got %s, %d", args, output, code)
			}
		}
		if got := l.received.String(); got != "" {
			t.Errorf("the URL got %q", got)
		}
	},
	"a URL is written in another way": func(t *testing.T) {
		u := newManagedUser(t, `{"servers": {"allow": [{"url": "https://good.example/mcp/*"}], "deny": [{"url": "*://evil.example/*"}]}}`)
		for _, address := range []string{
			"https://good.example@evil.example/mcp/x", "https://evil.example/?https://good.example/mcp/x", "https://good.example.evil.example/mcp/x",
			"https://good.example/mcp/../admin", "https://good.example/mcp/%2e%2e/admin", "http://good.example/mcp/x", "https://good.example:8443/mcp/x",
			"https://EVIL.example./mcp/x", "https://gооd.example/mcp/x", "https://evil.example#@good.example/mcp/x",
		} {
			u.wantDenied("tools", "--url", address, "--timeout", "5s")
		}
	},
	"the policy is replaced by the user's": func(t *testing.T) {
		u := newManagedUser(t, `{"servers": {"allow": []}}`)
		program, ran := u.canary("server")
		own := u.write("own.json", `{}`)
		for what, change := range map[string]func() error{
			"by a link":              func() error { return errors.Join(os.Remove(u.policy), os.Symlink(own, u.policy)) },
			"by a link to nothing":   func() error { return errors.Join(os.Remove(u.policy), os.Symlink(own+"x", u.policy)) },
			"by a directory":         func() error { return errors.Join(os.Remove(u.policy), os.Mkdir(u.policy, 0o755)) },
			"by a file for all":      func() error { return os.Chmod(u.policy, 0o666) },
			"by a file for a group":  func() error { return os.Chmod(u.policy, 0o664) },
			"by null":                func() error { return os.WriteFile(u.policy, []byte("null"), 0o644) },
			"by null servers":        func() error { return os.WriteFile(u.policy, []byte(`{"servers": null}`), 0o644) },
			"by an array":            func() error { return os.WriteFile(u.policy, []byte("[]"), 0o644) },
			"by a file without JSON": func() error { return os.Truncate(u.policy, 5) },
		} {
			if err := errors.Join(os.RemoveAll(u.policy), os.WriteFile(u.policy, []byte(`{"servers": {}}`), 0o644), change()); err != nil {
				t.Fatal(err)
			}
			if output, code := u.try(nil, "tools", "--", program); code != 7 || !strings.Contains(output, "no server is run") {
				t.Errorf("%s: got %s, %d", what, output, code)
			}
		}
		if ran() {
			t.Error("the program ran")
		}
	},
	"a forbidden flag is written in another way": func(t *testing.T) {
		u := newManagedUser(t, `{"forbiddenFlags": ["--insecure-no-auth", "yes", "--url", "--store"]}`)
		program, ran := u.canary("server")
		config := u.write("mcp.json", fmt.Sprintf(`{"mcpServers": {"a": {"command": %q}}}`, program))
		for _, flag := range []string{"--yes", "-yes", "--yes=true", "-yes=1", "--insecure-no-auth", "-insecure-no-auth=true"} {
			u.wantDenied("up", "--addr", "127.0.0.1:0", "--config", config, flag)
		}
		for _, variable := range []string{"FONDACO_URL=http://127.0.0.1:1/mcp", "FONDACO_STORE=file:/tmp/x"} {
			if output, code := u.try([]string{variable}, "tools"); code != 7 || !strings.Contains(output, "managed policy") {
				t.Errorf("%s: got %s, %d, want it denied", variable, output, code)
			}
		}
		if ran() {
			t.Error("the program ran")
		}
	},
	"a denied directory is reached in another way": func(t *testing.T) {
		u := newManagedUser(t, `{}`)
		program, ran := u.canary("server")
		dir := filepath.Join(u.home, "denied")
		link := filepath.Join(u.home, "link")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(dir, link)); err != nil {
			t.Fatal(err)
		}
		u.setPolicy(fmt.Sprintf(`{"servers": {"deny": [{"dir": %q}, {"dir": %q}]}}`, dir, u.home))
		for _, cwd := range []string{dir, dir + "/", link, dir + "/../denied", "denied", "."} {
			config := u.write("mcp.json", fmt.Sprintf(`{"mcpServers": {"a": {"command": %q, "cwd": %q}}}`, program, cwd))
			u.wantDenied("tools", "--config", config)
		}
		u.wantDenied("tools", "--", program) // in the home directory
		if ran() {
			t.Error("the program ran")
		}
	},
	"a server runs on after it was denied": func(t *testing.T) {
		u := newManagedUser(t, `{}`)
		u.write("mcp.json", `{"mcpServers": {"p": `+u.server("plain")+`}}`)
		h := &runningHost{t: t, process: exec.Command(u.program, "up", "--addr", "127.0.0.1:0", "--config", "mcp.json", "--yes")}
		h.process.Dir, h.process.Env, h.process.Stderr = u.home, u.env, &h.stderr
		if err := h.process.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.end)
		h.url = "http://" + h.await(`(?m)^LISTEN (\S+)$`)[1] + "/mcp"
		h.await(`p +ready`)
		c := h.connect(nil)
		if _, err := c.CallTool(t.Context(), "p__greet", nil); err != nil {
			t.Fatal(err)
		}
		u.write("mcp.json", `{"mcpServers": `) // a configuration with an error does not keep it running
		u.setPolicy(`{"servers": {"deny": [{"name": "p"}]}}`)
		h.await(`server "p": denied by the managed policy`)
		h.await(`the running servers are unchanged`)
		for deadline := time.Now().Add(replyTimeout); ; time.Sleep(20 * time.Millisecond) {
			if _, err := c.CallTool(t.Context(), "p__greet", nil); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the server still answers")
			}
		}
	},
	"calls avoid the required audit log": func(t *testing.T) {
		u := newManagedUser(t, `{"audit": {"first": true}}`)
		program, ran := u.canary("server")
		u.wantDenied("tools", "--", program)
		u.wantDenied("tools", "--url", "http://127.0.0.1:1/mcp")
		u.wantDenied("up", "--addr", "127.0.0.1:0") // the demonstration
		if ran() {
			t.Error("the program ran")
		}
	},
}

func TestHostAttacksPolicy(t *testing.T) {
	for name, attack := range policyAttacks {
		t.Run(name, attack) // one after the other, because they share the policy
	}
}
