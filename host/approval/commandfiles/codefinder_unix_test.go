//go:build unix

package commandfiles_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/internal/claim"
)

// Each command runs a file whose name does not say that it is code. Next to most of them is
// a file that a wrong reading of the command takes for the one that runs.
func TestFilesThatRunAreFoundInEveryFormOfACommand(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	type attack struct {
		words []string
		env   map[string]string
		want  string // the file whose change is found
	}
	m := newMachine(t)
	for _, program := range []string{"uv", "ruby", "java", "bun", "awk"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for _, file := range []string{"server.py", "server.js", "hook.js", "lib.rb", "plain", "run", "helper", "bunfig.toml", ".npmrc", "sub/server.py", "sub/plain"} {
		m.write("proj/"+file, "x")
	}
	m.write("usr/bin/helper", "\x7fELF helper")
	for _, program := range []string{"bin/helper", "here", "start", "sub/start"} {
		m.write("proj/"+program, "\x7fELF own")
	}
	m.write("proj/first", "#!"+m.path("usr/bin/python3")+" ./plain\n")
	for _, program := range []string{"here", "start", "sub/start", "first"} {
		m.must(chmodPrivate(m.path("proj/" + program)))
	}
	m.link("proj/tool", m.path("usr/bin/python3"))
	for name, test := range map[string]attack{
		"runner of a script by its name":                         {words: []string{"uv", "run", "server.py"}, want: "proj/server.py"},
		"runner with a directory":                                {words: []string{"uv", "--directory", "sub", "run", "server.py"}, want: "proj/sub/server.py"},
		"runner of a program that is not there":                  {words: []string{"uv", "run", "mcp", "run", "server.py"}, want: "proj/server.py"},
		"interpreter under another name":                         {words: []string{"./tool", "plain"}, want: "proj/plain"},
		"option with a value in the same word":                   {words: []string{"node", "--require=./plain", "server.js"}, want: "proj/plain"},
		"option with the name of a module":                       {words: []string{"node", "--require=./hook", "server.js"}, want: "proj/hook.js"},
		"short option with the name of a module":                 {words: []string{"ruby", "-r./lib", "server.js"}, want: "proj/lib.rb"},
		"option that looks like a switch":                        {words: []string{"node", "--experimental-loader", "./hook.js", "server"}, want: "proj/server.js"},
		"file with the name of a subcommand in front of another": {words: []string{"deno", "run", "--ext=ts", "plain"}, want: "proj/plain"},
		"file with the name of a subcommand":                     {words: []string{"deno", "run", "-A", "plain"}, want: "proj/plain"},
		"file with arguments":                                    {words: []string{"java", "@plain"}, want: "proj/plain"},
		"interpreter of the first line with a file":              {words: []string{"./first"}, want: "proj/plain"},
		"options of an interpreter in a variable":                {words: []string{"node", "server.js"}, env: map[string]string{"NODE_OPTIONS": "--require ./hook"}, want: "proj/hook.js"},
		"file of a variable without a suffix":                    {words: []string{"sh", "-c", "x"}, env: map[string]string{"BASH_ENV": "./plain"}, want: "proj/plain"},
		"relative directory in the PATH":                         {words: []string{"env", "helper"}, env: map[string]string{"PATH": "bin:/PATH"}, want: "proj/bin/helper"},
		"empty directory in the PATH":                            {words: []string{"env", "here"}, env: map[string]string{"PATH": ":/PATH"}, want: "proj/here"},
		"PATH among the arguments":                               {words: []string{"env", "PATH=./bin", "helper"}, want: "proj/bin/helper"},
		"directory of the wrapped program":                       {words: []string{"env", "-C", "sub", "./start"}, want: "proj/sub/start"},
		"directory in the same word":                             {words: []string{"env", "--chdir=sub", "python3", "plain"}, want: "proj/sub/plain"},
		"directory in a short option":                            {words: []string{"env", "-Csub", "python3", "plain"}, want: "proj/sub/plain"},
		"directory in code for a shell":                          {words: []string{"sh", "-c", "cd sub && exec ./start"}, want: "proj/sub/start"},
		"module in another directory":                            {words: []string{"env", "-C", "sub", "python3", "-m", "server"}, want: "proj/sub/server.py"},
		"interpreter that is downloaded":                         {words: []string{"npx", "-y", "tsx", "./hook"}, want: "proj/hook.js"},
		"interpreter that the runner provides":                   {words: []string{"uv", "run", "pypy", "plain"}, want: "proj/plain"},
		"options in a variable among the arguments":              {words: []string{"env", "NODE_OPTIONS=-r./plain", "node", "server.js"}, want: "proj/plain"},
		"interpreter that is not common":                         {words: []string{"awk", "-f", "plain"}, want: "proj/plain"},
		"configuration that names code":                          {words: []string{"bun", "server.js"}, want: "proj/bunfig.toml"},
		"configuration that names a registry":                    {words: []string{"npx", "-y", "@example/server@1.0.0"}, want: "proj/.npmrc"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			c := m.command("proj", test.words[0], test.words[1:]...)
			for variable, value := range test.env {
				c.Env[variable] = strings.ReplaceAll(value, "/PATH", m.path("usr/bin"))
			}
			m.remember(c)
			m.mustNotDiffer(c)
			m.write(test.want, "evil")
			m.mustDiffer(c, "/"+test.want+" changed")
		})
	}
}

func TestNothingThatMayNotBeLookedAtIsLookedAt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-363a")
	m := newMachine(t)
	net := m.path("net")
	// As on Windows, with a directory in place of another machine.
	m.checkLocal = func(path, project string) error {
		for at := path; project != "" && at != "/"; at = filepath.Dir(at) {
			if real, err := filepath.EvalSymlinks(at); err == nil && (real == net || strings.HasPrefix(real, net+"/")) {
				return errors.New(path + " leads to another machine")
			}
		}
		return nil
	}
	for _, name := range []string{"net/bin/node", "net/x.js", "net/.python-version", "net/index.js"} {
		m.write(name, "x")
	}
	m.link("proj/link", net)
	m.link("proj/linked.js", m.path("net/x.js"))
	m.link("proj/.npmrc", m.path("net/x.js"))
	m.write("proj/bin/start", "#!"+m.path("net/bin/node")+"\n")
	m.write("proj/package.json", `{"main": "link/index.js"}`)
	m.write("proj/compose.yaml", "services: {server: {build: {context: "+net+", dockerfile: ../x}}}")
	for _, words := range [][]string{
		{m.path("net/bin/node")},
		{"./link/bin/node"},
		{"node", m.path("net/x.js")},
		{"node", "--require=" + m.path("net/x.js")},
		{"node", "-r" + m.path("net/none.js")},
		{"node", "linked.js"},
		{"node", "."},
		{"python3", "-m", "link.x"},
		{"env", "PATH=" + m.path("net/bin"), "node"},
		{"env", "-C", net, "node"},
		{"sh", "-c", "cd " + net + " && ./x.js"},
		{"./bin/start"},
		{"node", "link/../x.js"},
		{"docker", "compose", "-f", "compose.yaml", "up"},
		{"npx", "-y", "@example/files@1.0.0"},
		{"node", "-e", "1", "file://" + m.path("net/x.js")},
	} {
		c := m.command("proj", words[0], words[1:]...)
		if p, err := commandfiles.Find(c); err == nil || !strings.Contains(err.Error(), "leads to another machine") {
			t.Errorf("%q: got %+v, %v, want it refused", words, p, err)
		}
		c.Project = ""
		if _, err := commandfiles.Find(c); err != nil {
			t.Errorf("%q without a project: %v", words, err)
		}
	}
	for link, target := range map[string]string{"node_modules": "net", "node_modules/x": "net", "node_modules/x/package.json": "net/x.js", "node_modules/@x": "net", "node_modules/x/node_modules": "net"} {
		m.link("modules/"+link, m.path(target))
		c := m.command("modules", "npx", "-y", "@example/files@1.0.0")
		if p, err := commandfiles.Find(c); err == nil || !strings.Contains(err.Error(), "leads to another machine") {
			t.Errorf("%s: got %+v, %v, want it refused", link, p, err)
		}
		m.must(os.RemoveAll(m.path("modules/node_modules")))
	}
	for name, value := range map[string]string{"PATH": m.path("net/bin") + ":" + m.path("usr/bin"), "NODE_OPTIONS": "-r " + m.path("net/x.js"), "X": m.path("net/x.js")} {
		c := m.command("proj", "node", "-v")
		c.Env[name] = value
		if p, err := commandfiles.Find(c); err == nil || !strings.Contains(err.Error(), "leads to another machine") {
			t.Errorf("%s: got %+v, %v, want it refused", name, p, err)
		}
	}
}
