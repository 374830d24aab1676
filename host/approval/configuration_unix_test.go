//go:build unix

package approval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A file above the working directory that names another registry changes what is downloaded.
func TestConfigurationAboveTheWorkingDirectoryNeedsApproval(t *testing.T) {
	t.Parallel()
	type attack struct {
		words []string
		added string
	}
	for name, test := range map[string]attack{
		"npx":                       {[]string{"npx", "-y", "server@1.0.0"}, "proj/.npmrc"},
		"npx, far above":            {[]string{"npx", "-y", "server@1.0.0"}, ".npmrc"},
		"npm, with its scripts":     {[]string{"npm", "run", "serve"}, "proj/package.json"},
		"pnpm":                      {[]string{"pnpm", "dlx", "server@1.0.0"}, "proj/.pnpmfile.cjs"},
		"yarn":                      {[]string{"yarn", "dlx", "server@1.0.0"}, "proj/.yarnrc.yml"},
		"bun":                       {[]string{"bunx", "server@1.0.0"}, "proj/bunfig.toml"},
		"variables that bun reads":  {[]string{"bunx", "server@1.0.0"}, "proj/sub/.env"},
		"uvx":                       {[]string{"uvx", "server@1.0.0"}, "proj/uv.toml"},
		"uv with a project":         {[]string{"uv", "run", "server"}, "proj/pyproject.toml"},
		"uv with a version":         {[]string{"uv", "run", "server"}, "proj/.python-version"},
		"poetry":                    {[]string{"poetry", "run", "server"}, "proj/poetry.toml"},
		"pipenv":                    {[]string{"pipenv", "run", "server"}, "proj/.env"},
		"cargo":                     {[]string{"cargo", "run"}, "proj/.cargo/config.toml"},
		"dotnet":                    {[]string{"dnx", "server@1.0.0"}, "proj/nuget.config"},
		"deno":                      {[]string{"deno", "run", "npm:server@1.0.0"}, "proj/deno.json"},
		"behind another program":    {[]string{"env", "A=b", "npx", "-y", "server@1.0.0"}, "proj/.npmrc"},
		"another working directory": {[]string{"uvx", "--directory", "../other/sub", "server@1.0.0"}, "proj/other/uv.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			for _, program := range []string{"pnpm", "yarn", "bunx", "uv", "poetry", "pipenv", "cargo", "dnx"} {
				m.write("usr/bin/"+program, "\x7fELF "+program)
			}
			m.write("proj/other/sub/data", "x")
			u := m.server("proj/sub", "x", test.words[0], test.words[1:]...)
			m.approve(u)
			m.mustNotAsk(u)
			m.write(test.added, "registry")
			m.mustAsk(u, "the script /"+test.added+" runs, which did not")
			m.approve(u)
			m.write(test.added, "another")
			m.mustAsk(u, "the content of the script /"+test.added+" has changed")
		})
	}
}

func TestConfigurationAboveTheTargetOfALinkNeedsApproval(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("elsewhere/sub/data", "x")
	m.link("proj", m.path("elsewhere/sub"))
	u := m.server("proj", "x", "npx", "-y", "server@1.0.0")
	m.approve(u)
	m.write("elsewhere/.npmrc", "registry")
	m.mustAsk(u, "the script /elsewhere/.npmrc runs, which did not")
}

// A login writes into the home directory of the user, which is no project.
func TestSettingsInTheUsersHomeNeedNoApproval(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("home/.npmrc", "registry")
	u := m.server("home/work/proj", "x", "npx", "-y", "server@1.0.0")
	m.approve(u)
	m.write("home/.npmrc", "registry and a token")
	m.mustNotAsk(u)
	m.write("home/work/.npmrc", "registry")
	m.mustAsk(u, "the script /home/work/.npmrc runs, which did not")

	own := m.server("home", "x", "npx", "-y", "server@1.0.0") // a clone in place of the home directory
	m.approve(own)
	m.write("home/.npmrc", "registry of the clone")
	m.mustAsk(own, "the content of the script /home/.npmrc has changed")
}

func TestSettingsInADirectoryThatAVariableNamesNeedApproval(t *testing.T) {
	t.Parallel()
	for variable, added := range map[string]string{"HOME": "proj/x/.npmrc", "XDG_CONFIG_HOME": "proj/x/uv/uv.toml"} {
		m := newMachine(t)
		m.write("usr/bin/uv", "\x7fELF uv")
		command := map[string]string{"HOME": "npx", "XDG_CONFIG_HOME": "uvx"}[variable]
		u := m.server("proj", "x", command, "server@1.0.0")
		u.Target.(*mcpclient.CommandTarget).Env[variable] = "./x"
		p := m.approve(u)
		if got := fmt.Sprint(p.Subject.Program.NotCovered); !strings.Contains(got, "/proj/x, because of "+variable) {
			t.Errorf("%s: got %s, want the directory named", variable, got)
		}
		m.write(added, "registry")
		m.mustAsk(u, "the script /"+added+" runs, which did not")
	}
}

func TestFilesThatFlagsAndVariablesOfInstallersNameAreCovered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		words []string
		env   map[string]string
	}{
		"requirements":              {words: []string{"uvx", "--with-requirements", "plain", "server@1.0.0"}},
		"settings":                  {words: []string{"npx", "--userconfig=plain", "-y", "server@1.0.0"}},
		"variables of Node.js":      {words: []string{"node", "--env-file", "plain", "server.js"}},
		"variables of uv":           {words: []string{"uv", "run", "--env-file=plain", "server.js"}},
		"settings in a variable":    {words: []string{"uvx", "server@1.0.0"}, env: map[string]string{"UV_CONFIG_FILE": "./plain"}},
		"constraints in a variable": {words: []string{"uvx", "server@1.0.0"}, env: map[string]string{"UV_CONSTRAINT": "plain"}},
	} {
		m := newMachine(t)
		m.write("usr/bin/uv", "\x7fELF uv")
		m.write("proj/server.js", "x")
		m.write("proj/plain", "x")
		u := m.server("proj", "x", test.words[0], test.words[1:]...)
		for variable, value := range test.env {
			u.Target.(*mcpclient.CommandTarget).Env[variable] = value
		}
		m.approve(u)
		m.write("proj/plain", "evil")
		if p := m.check(u); p == nil {
			t.Errorf("%s: a change of the file needs no approval", name)
		}
	}
}

// A file that only root can write was changed by the administrator.
func TestConfigurationOfTheAdministratorIsCarriedOver(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/.npmrc", "registry")
	u := m.server("usr/share/proj", "x", "npx", "-y", "server@1.0.0")
	m.approve(u)
	m.write("usr/.npmrc", "another")
	m.mustNotAsk(u)
	if len(m.carried) != 1 || !strings.Contains(fmt.Sprint(m.carried), "/usr/.npmrc has changed") {
		t.Errorf("got %q, want the changed file in the audit log", m.carried)
	}
}

func TestCodeThatAConfigurationNamesIsCovered(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		".yarnrc.yml": "yarnPath: tools/release.cjs\n", ".npmrc": "node-options=--require ./tools/release.cjs\n", "bunfig.toml": "preload = [\"./tools/release.cjs\"]\n",
	} {
		m := newMachine(t)
		command := map[string]string{".yarnrc.yml": "yarn", ".npmrc": "npx", "bunfig.toml": "bunx"}[file]
		m.write("usr/bin/"+command, "\x7fELF "+command)
		m.write("proj/"+file, text)
		m.write("proj/tools/release.cjs", "good")
		u := m.server("proj/sub", "x", command, "dlx", "server@1.0.0")
		m.approve(u)
		m.write("proj/tools/release.cjs", "evil")
		m.mustAsk(u, "the content of the script /proj/tools/release.cjs has changed")
	}
}
