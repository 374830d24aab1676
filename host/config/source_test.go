package config_test

import (
	"encoding/json/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestValueOfAHeaderIsCheckedWhenItIsKnown(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {"a": {"url": "https://a.example/mcp", "headers": {"X-Key": "${KEY}"}}}}`)
	c, err := config.Load(path, &config.Options{Strict: true, Env: env(map[string]string{"KEY": "CANARY\r\nX-Other: 1"})})
	if err != nil || len(c.Upstreams) != 1 {
		t.Fatalf("before the approval: got %+v, %v, want nothing expanded", c, err)
	}
	_, err = c.Upstreams[0].Resolved(t.Context())
	if err == nil || !strings.Contains(err.Error(), "/mcpServers/a/headers/X-Key: found a line break") || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("after the approval: got %v, want the error without the value", err)
	}
}

func TestNothingIsExpandedBeforeApproval(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := write(t, dir, "key", "CANARY-file")
	path := write(t, dir, "project/opencode.json", `{"mcp": {
		"remote": {"type": "remote", "url": "https://{env:AWS_SECRET}.example.com/{env:AWS_SECRET}", "headers": {"X": "{file:`+filepath.ToSlash(key)+`}"},
		           "oauth": {"issuer": "https://id.example.com", "clientId": "{env:AWS_SECRET}", "clientSecret": "{file:../key}"}},
		"local": {"type": "local", "command": ["run", "{file:../key}", "$${env:NOT}"], "environment": {"KEY": "{file:../key}", "NODE_OPTIONS": "--require={file:../key}"}}
	}}`)
	asked := 0
	c, err := config.Load(path, &config.Options{
		Strict: true, Env: env(map[string]string{"AWS_SECRET": "CANARY-variable"}),
		Ask: func(config.Input) (string, error) { asked++; return "CANARY-input", nil },
	})
	if err != nil || len(c.Upstreams) != 2 {
		t.Fatalf("got %+v, %v", c, err)
	}
	for _, u := range c.Upstreams {
		all := []string{u.Target.String(), u.SignIn.ClientID, u.SignIn.ClientSecret.Reveal(), u.SignIn.Issuer}
		if program, ok := u.Target.(*mcpclient.CommandTarget); ok {
			all = append(all, program.Args...)
			for _, value := range program.Env {
				all = append(all, value)
			}
		}
		for _, values := range u.Header {
			all = append(all, values...)
		}
		if strings.Contains(strings.Join(all, "\n"), "CANARY") || asked > 0 {
			t.Errorf("%s: got %q, %d questions, want nothing expanded", u.Key, all, asked)
		}
	}
	remote := c.Upstreams[0].Source
	want := host.Text{
		Written:    "https://${env:AWS_SECRET}.example.com/${env:AWS_SECRET}",
		References: []host.Reference{{Kind: host.VariableReference, Name: "AWS_SECRET"}, {Kind: host.VariableReference, Name: "AWS_SECRET"}},
	}
	if !reflect.DeepEqual(remote.URL, want) {
		t.Errorf("got URL %+v, want %+v", remote.URL, want)
	}
	if h := remote.Headers["X"]; len(h.References) != 1 || h.References[0] != (host.Reference{Kind: host.FileReference, Name: key}) {
		t.Errorf("got header %+v, want the file by its path", h)
	}
	if secret := remote.SignIn["clientSecret"]; len(secret.References) != 1 || secret.References[0].Name != key {
		t.Errorf("got client secret %+v, want the file by its path", secret)
	}
	resolved, err := c.Upstreams[0].Resolved(t.Context())
	if err != nil || resolved.Header.Get("X") != "CANARY-file" || resolved.SignIn.ClientID != "CANARY-variable" {
		t.Errorf("got %+v, %v, want the values after approval", resolved, err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Upstreams[0].Resolved(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v, want the missing file", err)
	}
}

// A variable that is passed on has the value of the environment file where it is not set, and
// then that value is what the user has to approve.
func TestVariableOfTheEnvironmentFileIsNotTakenForOneThatIsPassedOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "project/.env", "NODE_OPTIONS=--require=./evil.js\n")
	path := write(t, dir, "project/.codex/config.toml", "[mcp_servers.x]\ncommand = \"node\"\nenvFile = \".env\"\nenv_vars = [\"NODE_OPTIONS\"]\n")
	for _, test := range []struct {
		set             map[string]string
		written, passed string
	}{
		{nil, "--require=./evil.js", "--require=./evil.js"},
		{map[string]string{"NODE_OPTIONS": "--no-warnings"}, "${env:NODE_OPTIONS}", "--no-warnings"},
	} {
		c, err := config.Load(path, &config.Options{Strict: true, Env: env(test.set)})
		if err != nil || len(c.Upstreams) != 1 {
			t.Fatalf("got %+v, %v", c, err)
		}
		u := &c.Upstreams[0]
		if got := u.Source.Env["NODE_OPTIONS"].Written; got != test.written {
			t.Errorf("got %q to approve, want %q", got, test.written)
		}
		if got := u.Target.(*mcpclient.CommandTarget).Env["NODE_OPTIONS"]; got != test.passed {
			t.Errorf("got %q passed on, want %q", got, test.passed)
		}
	}
}

func TestInputIsAskedForOnceAfterApproval(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "mcp.json", `{"inputs": [{"id": "key", "password": true}], "servers": {
		"a": {"command": "run", "env": {"KEY": "${input:key}"}}, "b": {"command": "run", "args": ["--key=${input:key}"]}}}`)
	var asked []string
	c, err := config.Load(path, &config.Options{Strict: true, Env: env(nil), Ask: func(in config.Input) (string, error) {
		asked = append(asked, in.ID)
		return "s3cret", nil
	}})
	if err != nil || len(asked) > 0 {
		t.Fatalf("got %v, asked for %q, want no question before approval", err, asked)
	}
	if got := c.Upstreams[0].Target.(*mcpclient.CommandTarget).Env["KEY"]; got != "${input:key}" {
		t.Errorf("got %q, want the reference", got)
	}
	for _, u := range slices.Concat(c.Upstreams, c.Upstreams) {
		resolved, err := u.Resolved(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if program := resolved.Target.(*mcpclient.CommandTarget); program.Env["KEY"] != "s3cret" && !slices.Equal(program.Args, []string{"--key=s3cret"}) {
			t.Errorf("got %+v, want the answer", program)
		}
	}
	if len(asked) != 1 {
		t.Errorf("got %d questions, want one", len(asked))
	}
}

func TestWhatRunsIsKnownBeforeApproval(t *testing.T) {
	t.Parallel()
	for _, members := range []string{`"command": "${input:a}"`, `"command": "run", "cwd": "/tmp/${input:a}"`} {
		path := write(t, t.TempDir(), "mcp.json", `{"inputs": [{"id": "a"}], "mcpServers": {"x": {`+members+`}}}`)
		_, err := config.Load(path, &config.Options{Strict: true, Env: env(map[string]string{"FONDACO_INPUT_A": "/bin/sh"})})
		if err == nil || !strings.Contains(err.Error(), "what runs must be known when it is approved") {
			t.Errorf("%s: got %v, want a refusal", members, err)
		}
	}
}

func TestDirectoryIsNeverThatOfTheHost(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")}
	const servers = `{"mcpServers": {"a": {"command": "run"}}}`
	for path, want := range map[string]string{
		write(t, home, ".config/fondaco/mcp.json", servers): filepath.Join(home, ".config", "fondaco"),
		write(t, project, ".cursor/mcp.json", servers):      project,
	} {
		c, err := load(path, variables)
		if err != nil || c.Upstreams[0].Target.(*mcpclient.CommandTarget).Dir != want {
			t.Errorf("got %+v, %v, want the directory %s", c, err, want)
		}
	}
}

func TestProjectCannotLetItsServersAskForMore(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")}
	for server, granted := range map[string]bool{
		`"command": "run", "fondaco": {"secrets": true}`:                                    true,
		`"url": "https://a.example/mcp", "fondaco": {"roots": true}`:                        true,
		`"url": "https://a.example/mcp", "type": "sse", "fondaco": {"roots": true}`:         true,
		`"command": "run", "fondaco": {"roots": true, "sampling": "ask", "secrets": false}`: false,
		`"command": "run", "fondaco": {"sampling": "deny"}`:                                 false,
		`"command": "run", "fondaco": {"sampling": "relay"}`:                                true,
		`"command": "run", "fondaco": {"elicitation": false, "roots": false}`:               false,
	} {
		servers := `{"mcpServers": {"a": {` + server + `}}}`
		own, err := load(write(t, home, ".config/fondaco/mcp.json", servers), variables)
		if err != nil || len(own.Upstreams) != 1 {
			t.Errorf("%s: got %+v, %v, want it in the user's own file", server, own, err)
		}
		foreign, err := load(write(t, t.TempDir(), ".mcp.json", servers), variables)
		if err != nil || (len(foreign.Errors) == 1) != granted || (len(foreign.Upstreams) == 0) != granted {
			t.Errorf("%s: got %+v, %v, want it refused in a project: %t", server, foreign, err, granted)
		}
	}
}

func TestDevHasNoEffectInTheFileOfAProject(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")}
	const servers = `{"mcpServers": {"a": {"command": "run", "fondaco": {"dev": true}}}}`
	c, err := load(write(t, home, ".config/fondaco/mcp.json", servers), variables)
	if err != nil || len(c.Upstreams) != 1 || !c.Upstreams[0].Settings.Dev {
		t.Errorf("got %+v, %v, want it in the user's own file", c, err)
	}
	foreign := write(t, project, ".mcp.json", servers)
	c, err = load(foreign, variables)
	if err != nil || len(c.Upstreams) != 1 || c.Upstreams[0].Settings.Dev || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Error(), foreign+`:1:22: /mcpServers/a: "dev" has no effect in the file of a project`) {
		t.Errorf("got %+v, %v, want the setting ignored", c, err)
	}
	copied, _ := config.ClientConfig{Path: foreign, Project: true}.Servers(env(variables), project)
	change, _, err := config.Add(filepath.Join(home, "own.json"), copied)
	if err != nil || strings.Contains(change.Diff(), "dev") {
		t.Errorf("got %v, %v, want dev left out of the copy", change, err)
	}
}

func TestProjectCannotWidenTheTrustInItsOwnServers(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")}
	for _, test := range []struct {
		own            string
		mine, projects host.Trust
		dynamic        bool
		warnings       int
	}{
		{`{}`, host.TrustBaseline, host.TrustAsk, false, 0},
		{`{"trust": "ask"}`, host.TrustAsk, host.TrustAsk, false, 0},
		{`{"trust": "baseline"}`, host.TrustBaseline, host.TrustAsk, false, 1},
		{`{"trust": "auto"}`, host.TrustAuto, host.TrustAsk, false, 1},
		{`{"dynamic": true}`, host.TrustBaseline, host.TrustAsk, true, 1},
	} {
		servers := `{"mcpServers": {"a": {"command": "run", "fondaco": ` + test.own + `}}}`
		c, err := load(write(t, home, ".config/fondaco/mcp.json", servers), variables)
		if err != nil || len(c.Warnings) != 0 || c.Upstreams[0].Trust() != test.mine || c.Upstreams[0].Settings.Dynamic != test.dynamic {
			t.Errorf("%s in the user's file: got %+v, %v, want trust %s", test.own, c, err, test.mine)
		}
		foreign := write(t, project, ".mcp.json", servers)
		c, err = load(foreign, variables)
		if err != nil || len(c.Warnings) != test.warnings || c.Upstreams[0].Trust() != test.projects || c.Upstreams[0].Settings.Dynamic {
			t.Errorf("%s in a project's file: got %+v, %v, want trust %s and %d warnings", test.own, c, err, test.projects, test.warnings)
		}
		copied, _ := config.ClientConfig{Path: foreign, Project: true}.Servers(env(variables), project)
		own := filepath.Join(t.TempDir(), "own.json")
		change, _, err := config.Add(own, copied)
		if err == nil {
			_, err = change.Write("")
		}
		text, _ := os.ReadFile(own)
		if err != nil || !strings.Contains(string(text), `"trust": "ask"`) || strings.Contains(string(text), "dynamic") {
			t.Errorf("%s: got %s, %v, want the trust of a project's server in a copy", test.own, text, err)
		}
	}
}

func TestTextsWithDollarSignsKeepTheirMeaningInAnotherFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "X": "value"}
	for name, texts := range map[string]map[string]string{
		".gemini/settings.json": {
			"$$X": "$value", "$${env:X}": "${env:X}", "$X": "value", "a$$$X": "a$$value", "$X$X": "valuevalue", "$$${env:X}": "$${env:X}",
			"${NONE:-$Y}": "$Y", "1$": "1$", "$1": "$1", "${$}${X}": "$value",
		},
		"opencode.json": {"${env:X}": "value", "$${env:X}": "${env:X}", "{env:X}": "value", "${$}{env:X}": "$value", "$": "$"},
		".mcp.json":     {"$${env:X}": "${env:X}", "${$}${env:X}": "$value", "${$}": "$", "$X": "$X"},
		"a$/.mcp.json":  {"${workspaceFolderBasename}${X}": "a$value", "${workspaceFolderBasename}{env:X}": "a${env:X}", "$${workspaceFolder}": "${workspaceFolder}"},
	} {
		written := make(map[string]string) // and what it stands for
		for text, want := range texts {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			content := `{"mcpServers": {"a": {"command": "run", "args": [` + string(quoted) + `]}}}`
			if name == "opencode.json" {
				content = `{"mcp": {"a": {"type": "local", "command": ["run", ` + string(quoted) + `]}}}`
			}
			dir := t.TempDir()
			path := write(t, dir, name, content)
			c, err := loadResolved(path, &config.Options{Strict: true, Env: env(variables)})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got := c.Upstreams[0].Target.(*mcpclient.CommandTarget).Args[0]; got != want {
				t.Errorf("%s: %s: got %s, want %s", name, text, got, want)
			}
			form := c.Upstreams[0].Source.Args[0].Written
			if before, ok := written[form]; ok && before != want {
				t.Errorf("%s: %s is written as %s, which stands for %s, too", name, text, form, before)
			}
			written[form] = want
			servers, problems := config.ClientConfig{Path: path}.Servers(env(variables), dir)
			own := filepath.Join(dir, "own", "mcp.json")
			change, _, err := config.Add(own, servers)
			if err == nil {
				_, err = change.Write("")
			}
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			copied, err := loadResolved(own, &config.Options{Strict: true, Env: env(variables)})
			if err != nil {
				t.Fatalf("%s: %s, copied: %v", name, text, err)
			}
			if got := copied.Upstreams[0].Target.(*mcpclient.CommandTarget).Args[0]; got != want {
				t.Errorf("%s: %s, copied as %s: got %s, want %s", name, text, copied.Upstreams[0].Source.Args[0].Written, got, want)
			}
		}
	}
}

func TestPathsOfOtherMachinesInTheFileOfAProjectAreRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	variables := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "TOOLS": `\\evil\tools`}
	for _, server := range []string{
		`"command": "\\\\evil\\share\\run.exe"`,
		`"command": "\\\\?\\UNC\\evil\\share\\run.exe"`,
		`"command": "${env:TOOLS}\\run.exe"`,
		`"command": "${NONE:-\\\\evil\\x}"`,
		`"command": "run", "cwd": "\\\\evil\\share"`,
		`"command": "run", "envFile": "\\\\evil\\share\\env"`,
	} {
		foreign := write(t, t.TempDir(), ".mcp.json", `{"mcpServers": {"a": {`+server+`}}}`)
		c, err := load(foreign, variables)
		if err != nil || len(c.Upstreams) != 0 || len(c.Errors) != 1 || !strings.Contains(c.Errors[0].Text, "leads to another machine") {
			t.Errorf("%s: got %+v, %v, want the server refused", server, c, err)
			continue
		}
		if text := c.Errors[0].Error(); strings.Contains(server, "env:") && strings.Contains(text, "evil") {
			t.Errorf("%s: got %s, want no value of a variable", server, text)
		}
	}
	foreign := write(t, t.TempDir(), "opencode.json", `{"mcp": {"a": {"type": "local", "command": ["run", "{file:\\\\evil\\share\\x}"]}}}`)
	if c, err := load(foreign, variables); err != nil || len(c.Upstreams) != 0 || len(c.Errors) != 1 || !strings.Contains(c.Errors[0].Text, "leads to another machine") {
		t.Errorf("got %+v, %v, want the file not read", c, err)
	}
	own := write(t, home, ".config/fondaco/mcp.json", `{"mcpServers": {"a": {"command": "\\\\corp\\tools\\run.exe"}}}`)
	if c, err := load(own, variables); err != nil || len(c.Upstreams) != 1 {
		t.Errorf("got %+v, %v, want the path accepted in the user's own file", c, err)
	}
}

func TestSecretInThePathOfAnEnvironmentFileIsNotReported(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "mcp.json", `{"mcpServers": {"x": {"command": "run", "envFile": "/none/${env:TOKEN}"}}}`)
	_, err := config.Load(path, &config.Options{Strict: true, Env: env(map[string]string{"TOKEN": "CANARY"})})
	if err == nil || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), "/none/${env:TOKEN}") {
		t.Errorf("got %v, want the path as it is written", err)
	}
}
