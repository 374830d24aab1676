//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

// Settings of package managers name code, whatever its name, and further settings.
func TestCodeThatSettingsOfPackageManagersNameIsFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for file, content := range map[string]string{
		"plain": "x", "hook.js": "x", "sub/plain": "x", "pkg/package.json": `{"bin": "cli"}`, "pkg/cli": "x", "sub/package.json": "{}", "pre.ts": "x", "lib/index.js": "x",
	} {
		m.write("proj/"+file, content)
	}
	for _, program := range []string{"pnpm", "yarn", "bun"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for name, test := range map[string]struct {
		words   []string
		env     map[string]string
		file    string // and its content
		content string
		changed string
	}{
		"module without suffix":           {file: ".npmrc", content: "node-options=--require ./plain\n", changed: "plain"},
		"module with a suffix added":      {file: ".npmrc", content: "; x\n node-options = \"--require ./hook\"\n", changed: "hook.js"},
		"module of a variable":            {env: map[string]string{"NPM_CONFIG_NODE_OPTIONS": "--require=./plain"}, changed: "plain"},
		"module of a flag":                {words: []string{"npx", "--node-options", "-r ./plain", "server@1"}, changed: "plain"},
		"module of a shortened flag":      {words: []string{"npx", "--node-o=-r ./plain", "server@1"}, changed: "plain"},
		"settings of the user":            {file: ".npmrc", content: "userconfig=./plain\n", changed: "plain"},
		"settings with another name":      {file: ".npmrc", content: "globalconfig=hook.js\n", changed: "hook.js"},
		"settings of a variable":          {env: map[string]string{"npm_config_userconfig": "plain"}, changed: "plain"},
		"shell":                           {file: ".npmrc", content: "script-shell=./plain\n", changed: "plain"},
		"program for git":                 {file: ".npmrc", content: "git=./plain\n", changed: "plain"},
		"package":                         {file: ".npmrc", content: "package[]=./pkg\n", changed: "pkg/cli"},
		"code for a shell":                {file: ".npmrc", content: "call=node plain\n", changed: "plain"},
		"code for a shell in a flag":      {words: []string{"npx", "--call=node plain"}, changed: "plain"},
		"code behind a flag":              {words: []string{"npx", "--call", "node plain"}, changed: "plain"},
		"code behind a short flag":        {words: []string{"npx", "-c", "node plain"}, changed: "plain"},
		"directory":                       {words: []string{"npm", "run", "serve"}, file: ".npmrc", content: "prefix=sub\n", changed: "sub/package.json"},
		"variable of a command":           {words: []string{"env", "npm_config_script_shell=./plain", "npx", "server"}, changed: "plain"},
		"variable in a shell":             {words: []string{"sh", "-c", "npm_config_script_shell=./plain npx server"}, changed: "plain"},
		"exported variable":               {words: []string{"sh", "-c", "export npm_config_script_shell=./plain; npx server"}, changed: "plain"},
		"reference to a variable":         {env: map[string]string{"DIR": "./sub"}, file: ".npmrc", content: "script-shell=${DIR}/plain\n", changed: "sub/plain"},
		"settings of pnpm":                {words: []string{"pnpm", "dlx", "server"}, file: "pnpm-workspace.yaml", content: "scriptShell: './plain' # x\n", changed: "plain"},
		"name that is escaped":            {file: ".npmrc", content: `"script\u002dshell"="./pl\u0061in"`, changed: "plain"},
		"setting of pnpm on two lines":    {words: []string{"pnpm", "dlx", "server"}, file: "pnpm-workspace.yaml", content: "scriptShell:\n  ./plain\n", changed: "plain"},
		"directory for a command of Yarn": {words: []string{"yarn", "serve"}, file: ".yarnrc", content: "--run.cwd \"sub\"\n", changed: "sub/package.json"},
		"release of Yarn":                 {words: []string{"yarn", "serve"}, file: ".yarnrc.yml", content: "yarnPath: ./plain\n", changed: "plain"},
		"plugin of Yarn":                  {words: []string{"yarn", "serve"}, file: ".yarnrc.yml", content: "plugins:\n  - ./plain\n", changed: "plain"},
		"module that bun loads":           {words: []string{"bun", "x.js"}, file: "bunfig.toml", content: "preload = [\"./pre\"]\n", changed: "pre.ts"},
		"directory that bun loads":        {words: []string{"bun", "x.js"}, file: "bunfig.toml", content: "preload = \"./lib\"\n", changed: "lib/index.js"},
		"settings behind 64 KiB":          {file: ".npmrc", content: strings.Repeat("; x\n", 64<<8) + "script-shell=./plain\n", changed: "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			if test.file != "" {
				m.write("proj/"+test.file, test.content)
			}
			words := test.words
			if words == nil {
				words = []string{"npx", "-y", "server@1.0.0"}
			}
			c := m.command("proj", words[0], words[1:]...)
			for variable, value := range test.env {
				c.Env[variable] = value
			}
			m.remember(c)
			m.mustNotDiffer(c)
			m.write("proj/"+test.changed, "evil")
			m.mustDiffer(c, "/proj/"+test.changed)
		})
	}
}

// npx runs what is in its cache, and in the directory of global packages, without downloading it.
func TestPackagesInACacheOfTheProjectAreFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		words []string
		env   map[string]string
		rc    string
		added string
	}{
		"variable":            {env: map[string]string{"npm_config_cache": ".c"}, added: ".c/_npx/0123456789abcdef/node_modules/server/package.json"},
		"setting":             {rc: "cache=./.c\n", added: ".c/_npx/0123456789abcdef/node_modules/zzz/package.json"},
		"flag":                {words: []string{"npx", "--cache", ".c", "server@1"}, added: ".c/_npx/0123456789abcdef/node_modules/.bin/server"},
		"interpreter":         {words: []string{"npm", "--cache=.c", "exec", "server@1"}, added: ".c/_npx/0123456789abcdef/node_modules/.bin/node"},
		"file of settings":    {rc: "userconfig=sub/rc\n", added: ".c/_npx/0123456789abcdef/node_modules/server/package.json"},
		"home directory":      {env: map[string]string{"HOME": ".c/x"}, added: ".c/x/.npm/_npx/0123456789abcdef/node_modules/server/package.json"},
		"global program":      {env: map[string]string{"npm_config_prefix": ".c"}, added: ".c/bin/server"},
		"global package":      {env: map[string]string{"npm_config_prefix": ".c"}, added: ".c/lib/node_modules/zzz/package.json"},
		"directory as a path": {rc: "cache=PROJ/.c\n", added: ".c/_npx/0123456789abcdef/node_modules/server/package.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.write("proj/.npmrc", strings.ReplaceAll(test.rc, "PROJ", m.path("proj")))
			m.write("proj/sub/rc", "cache=.c\n")
			words := test.words
			if words == nil {
				words = []string{"npx", "-y", "server@1.0.0"}
			}
			c := m.command("proj", words[0], words[1:]...)
			for variable, value := range test.env {
				c.Env[variable] = value
			}
			p := m.remember(c)
			if got := fmt.Sprint(p.NotCovered); test.env["npm_config_prefix"] == "" && !strings.Contains(got, ", which the settings of np") {
				t.Errorf("got %s, want the cache named", got)
			}
			m.write("proj/.c/_npx/0123456789abcdef/node_modules/other/package.json", `{"name": "other"}`)
			m.mustNotDiffer(c)
			m.write("proj/"+test.added, `{"name": "server"}`)
			m.must(chmodPrivate(m.path("proj/" + test.added)))
			m.mustDiffer(c, "/proj/"+test.added+" appeared")
		})
	}
}

// A cache of the user is filled by npx only.
func TestPackagesInACacheOfTheUserAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	c := m.command("proj", "npx", "-y", "server@1.0.0", "--cache", "data", "--filter=x")
	c.Env["npm_config_cache"] = m.path("home/cache")
	if got := fmt.Sprint(m.remember(c).NotCovered); strings.Contains(got, "data") {
		t.Errorf("got %s, want arguments of the server taken for nothing else", got)
	}
	m.write("home/cache/_npx/0123456789abcdef/node_modules/server/package.json", `{"name": "server"}`)
	m.mustNotDiffer(c)
}

func TestDirectoriesOfTheProjectInWhichManagersKeepPackagesAreNamed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/bunx", "\x7fELF bunx")
	for dir, want := range map[string]bool{"./tmp": true, m.path("proj/tmp"): true, "/tmp": false} {
		c := m.command("proj", "bunx", "server@1.0.0")
		c.Env["BUN_TMPDIR"] = dir
		got := fmt.Sprint(m.find(c).NotCovered)
		if strings.Contains(got, "what is in "+dir+", where bunx keeps packages because of BUN_TMPDIR") != want {
			t.Errorf("%s: got %s, want it named: %v", dir, got, want)
		}
	}
}

func TestPackagesThatBunLoadsFirstAreNamed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/bunx", "\x7fELF bunx")
	m.write("proj/bunfig.toml", "preload = [\"hook\"]\n")
	if got := fmt.Sprint(m.find(m.command("proj", "bunx", "server@1.0.0")).NotCovered); !strings.Contains(got, "packages and caches that "+m.path("proj/bunfig.toml")+" names") {
		t.Errorf("got %s, want the file named", got)
	}
}

func TestSettingsThatAreNotReadAreNamed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/.npmrc", strings.Repeat(";", 1<<20+1))
	if got := fmt.Sprint(m.find(m.command("proj", "npx", "server")).NotCovered); !strings.Contains(got, "the code that "+m.path("proj/.npmrc")+" names, which has more than 1048576 bytes") {
		t.Errorf("got %s, want the file named", got)
	}
}
