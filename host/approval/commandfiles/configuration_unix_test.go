//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

// A file above the working directory that names another registry changes what is downloaded.
func TestConfigurationAboveTheWorkingDirectoryIsFound(t *testing.T) {
	t.Parallel()
	type attack struct {
		words []string
		added string
	}
	m := newMachine(t)
	for _, program := range []string{"pnpm", "yarn", "bunx", "uv", "poetry", "pipenv", "cargo", "dnx"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	m.write("proj/other/sub/data", "x")
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
			m := m.in(t)
			c := m.command("proj/sub", test.words[0], test.words[1:]...)
			m.remember(c)
			m.mustNotDiffer(c)
			m.write(test.added, "registry")
			m.mustDiffer(c, "script /"+test.added+" appeared")
			m.remember(c)
			m.write(test.added, "another")
			m.mustDiffer(c, "script /"+test.added+" changed")
		})
	}
}

func TestConfigurationAboveTheTargetOfALinkIsFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("elsewhere/sub/data", "x")
	m.link("proj", m.path("elsewhere/sub"))
	c := m.command("proj", "npx", "-y", "server@1.0.0")
	m.remember(c)
	m.write("elsewhere/.npmrc", "registry")
	m.mustDiffer(c, "script /elsewhere/.npmrc appeared")
}

// A login writes into the home directory of the user, which is no project.
func TestSettingsInTheUsersHomeAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("home/.npmrc", "registry")
	c := m.command("home/work/proj", "npx", "-y", "server@1.0.0")
	m.remember(c)
	m.write("home/.npmrc", "registry and a token")
	m.mustNotDiffer(c)
	m.write("home/work/.npmrc", "registry")
	m.mustDiffer(c, "script /home/work/.npmrc appeared")

	own := m.command("home", "npx", "-y", "server@1.0.0") // a clone in place of the home directory
	m.remember(own)
	m.write("home/.npmrc", "registry of the clone")
	m.mustDiffer(own, "script /home/.npmrc changed")
}

func TestSettingsInADirectoryThatAVariableNamesAreFound(t *testing.T) {
	t.Parallel()
	for variable, added := range map[string]string{"HOME": "proj/x/.npmrc", "XDG_CONFIG_HOME": "proj/x/uv/uv.toml"} {
		m := newMachine(t)
		m.write("usr/bin/uv", "\x7fELF uv")
		command := map[string]string{"HOME": "npx", "XDG_CONFIG_HOME": "uvx"}[variable]
		c := m.command("proj", command, "server@1.0.0")
		c.Env[variable] = "./x"
		p := m.remember(c)
		if got := fmt.Sprint(p.NotCovered); !strings.Contains(got, "/proj/x, because of "+variable) {
			t.Errorf("%s: got %s, want the directory named", variable, got)
		}
		m.write(added, "registry")
		m.mustDiffer(c, "script /"+added+" appeared")
	}
}

func TestFilesThatFlagsAndVariablesOfInstallersNameAreCovered(t *testing.T) {
	t.Parallel()
	for _, test := range map[string]struct {
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
		c := m.command("proj", test.words[0], test.words[1:]...)
		for variable, value := range test.env {
			c.Env[variable] = value
		}
		m.remember(c)
		m.write("proj/plain", "evil")
		m.mustDiffer(c, "/proj/plain changed")
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
		c := m.command("proj/sub", command, "dlx", "server@1.0.0")
		m.remember(c)
		m.write("proj/tools/release.cjs", "evil")
		m.mustDiffer(c, "script /proj/tools/release.cjs changed")
	}
}
