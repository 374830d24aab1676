//go:build unix

package commandfiles_test

import (
	"strings"
	"testing"
)

func TestFilesThatRunAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, content := range map[string]string{
		"proj/server.py": "x", "proj/server.js": "x", "proj/server.ts": "x", "proj/setup.js": "x", "proj/plain": "x", "proj/app/__main__.py": "x",
		"proj/pkg/package.json": `{"main": "lib/main"}`, "proj/pkg/lib/main.js": "x", "proj/start": "#!/usr/bin/env -S node --no-warnings\n",
		"proj/data.csv": "a,b", "proj/agent.jar": "x", "proj/tools/mod.py": "x", "proj/script": "#!" + m.path("usr/bin/sh") + " -e\n", "proj/bin/native": "\x7fELF",
	} {
		m.write(name, content)
	}
	m.write("proj/bin/start", "#!"+m.path("usr/bin/env")+" node\n")
	tests := []struct {
		words []string
		want  string
	}{
		{[]string{"python3", "server.py"}, "program /usr/bin/python3, script /proj/server.py"},
		{[]string{"python3", "-u", "server.py", "data.csv"}, "program /usr/bin/python3, script /proj/server.py; data /proj/data.csv"},
		{[]string{"python3", "-u", "plain", "data.csv"}, "program /usr/bin/python3, script /proj/plain; data /proj/data.csv"},
		{[]string{"python3", "-m", "tools.mod"}, "program /usr/bin/python3, script /proj/tools/mod.py"},
		{[]string{"python3", "app"}, "program /usr/bin/python3, script /proj/app/__main__.py"},
		{[]string{"node", "--require", "./setup.js", "server.js"}, "program /usr/bin/node, script /proj/setup.js, script /proj/server.js"},
		{[]string{"node", "--require=./setup.js", "server"}, "program /usr/bin/node, script /proj/setup.js, script /proj/server.js"},
		{[]string{"node", "--import", "file://" + m.path("proj/setup.js"), "pkg"}, "program /usr/bin/node, script /proj/setup.js, script /proj/pkg/lib/main.js"},
		{[]string{"node", "-r./setup.js", "plain"}, "program /usr/bin/node, script /proj/setup.js, script /proj/plain"},
		{[]string{"deno", "run", "-A", "server.ts"}, "program /usr/bin/deno, script /proj/server.ts"},
		{[]string{"sh", "-c", "cd . && exec python3 ./server.py"}, "program /usr/bin/sh, interpreter /usr/bin/python3, script /proj/server.py"},
		{[]string{"env", "A=b", "python3", "server.py"}, "program /usr/bin/env, interpreter /usr/bin/python3, script /proj/server.py"},
		{[]string{"env", "-S", "node server.js"}, "program /usr/bin/env, interpreter /usr/bin/node, script /proj/server.js"},
		{[]string{"./bin/start", "data.csv"}, "program /proj/bin/start, interpreter /usr/bin/env, interpreter /usr/bin/node; data /proj/data.csv"},
		{[]string{"./bin/native", "script", "--plugin=agent.jar"}, "program /proj/bin/native, script /proj/script, script /proj/agent.jar"},
		{[]string{"npm", "--prefix", "pkg", "run", "serve"}, "program /usr/bin/npm, script /proj/pkg/package.json"},
	}
	for _, test := range tests {
		c := m.command("proj", test.words[0], test.words[1:]...)
		p := m.find(c)
		got := strings.Join(m.files(p), ", ")
		for _, data := range p.Data {
			got += "; data " + strings.TrimPrefix(data, m.root)
		}
		if got != test.want {
			t.Errorf("%q: got %s, want %s", test.words, got, test.want)
		}
	}
}
