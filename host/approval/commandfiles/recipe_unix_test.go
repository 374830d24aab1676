//go:build unix

package commandfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestFilesOfRecipesAreFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, program := range []string{"make", "gmake", "just", "task", "go-task", "rake"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	for name, test := range map[string]struct {
		words   []string
		files   map[string]string
		changed string
	}{
		"second included file":        {[]string{"make", "serve"}, map[string]string{"Makefile": "include a b\n", "a": "x", "b": "x"}, "b"},
		"included file in two lines":  {[]string{"make", "serve"}, map[string]string{"Makefile": "include a \\\n b\n", "a": "x", "b": "x"}, "b"},
		"included files by wildcard":  {[]string{"make", "serve"}, map[string]string{"Makefile": "-include rules/*.inc\n", "rules/a.inc": "x"}, "rules/a.inc"},
		"included by an included one": {[]string{"make", "serve"}, map[string]string{"Makefile": "include a\n", "a": "sinclude sub/b\n", "sub/b": "x"}, "sub/b"},
		"included file that appears":  {[]string{"make", "serve"}, map[string]string{"Makefile": "-include a\n"}, "a"},
		"include beside the recipe":   {[]string{"make", "-f", "sub/rules", "serve"}, map[string]string{"sub/rules": "include a\n", "a": "x"}, "a"},
		"directory of includes":       {[]string{"make", "-I", "sub", "serve"}, map[string]string{"Makefile": "include a\n", "sub/a": "x"}, "sub/a"},
		"other name of make":          {[]string{"gmake", "serve"}, map[string]string{"Makefile": "x"}, "Makefile"},
		"command of a recipe":         {[]string{"make", "serve"}, map[string]string{"Makefile": "serve:\n\t@python3 server\n", "server": "x"}, "server"},
		"included tasks":              {[]string{"task", "serve"}, map[string]string{"Taskfile.yml": "includes:\n  s: ./s/plain\n", "s/plain": "x"}, "s/plain"},
		"included directory of tasks": {[]string{"task", "serve"}, map[string]string{"Taskfile.yml": "includes:\n  s: {taskfile: ./s}\n", "s/Taskfile.yaml": "x"}, "s/Taskfile.yaml"},
		"variables of tasks":          {[]string{"go-task", "serve"}, map[string]string{"Taskfile.yml": "dotenv: ['vars', 'more']\n", "more": "x"}, "more"},
		"list of variables of tasks":  {[]string{"task", "serve"}, map[string]string{"Taskfile.yml": "dotenv:\n- vars\n", "vars": "x"}, "vars"},
		"command of a task":           {[]string{"task", "serve"}, map[string]string{"Taskfile.yml": "tasks:\n  serve:\n    cmds: ['node server']\n", "server": "x"}, "server"},
		"module of just":              {[]string{"just", "tools", "serve"}, map[string]string{"justfile": "mod tools\n", "tools.just": "x"}, "tools.just"},
		"module in a directory":       {[]string{"just", "tools", "serve"}, map[string]string{"justfile": "mod? tools\n", "tools/mod.just": "x"}, "tools/mod.just"},
		"module by its path":          {[]string{"just", "tools", "serve"}, map[string]string{"justfile": "mod tools 'sub'\n", "sub/JUSTFILE": "x"}, "sub/JUSTFILE"},
		"import of just":              {[]string{"just", "serve"}, map[string]string{"justfile": "import? \"a\"\n", "a": "x"}, "a"},
		"name in another case":        {[]string{"just", "serve"}, map[string]string{}, "JuStFiLe"},
		"variables of just":           {[]string{"just", "serve"}, map[string]string{"justfile": "set dotenv-filename := \"vars\"\n", "vars": "x"}, "vars"},
		"variables in a flag of just": {[]string{"just", "--dotenv-path=vars", "serve"}, map[string]string{"vars": "x"}, "vars"},
		"library of rake":             {[]string{"rake", "serve"}, map[string]string{"Rakefile": "x"}, "rakelib/x.rake"},
		"import of rake":              {[]string{"rake", "serve"}, map[string]string{"Rakefile": "import 'x'\n", "x": "x"}, "x"},
		"command of a task of deno":   {[]string{"deno", "task", "serve"}, map[string]string{"deno.json": `{"tasks": {"serve": "deno run -A server"}}`, "server": "x"}, "server"},
		"map of imports of deno":      {[]string{"deno", "run", "x.ts"}, map[string]string{"deno.jsonc": `{"importMap": "./imports.json"}`, "imports.json": "{}"}, "imports.json"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			for file, content := range test.files {
				m.write("proj/"+file, content)
			}
			c := m.command("proj", test.words[0], test.words[1:]...)
			m.remember(c)
			m.write("proj/README", "another")
			m.mustNotDiffer(c)
			m.write("proj/"+test.changed, "evil")
			m.mustDiffer(c, "/proj/"+test.changed)
		})
	}
}

func TestRecipesThatCannotBeFollowedAreNamedAsNotCovered(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"the files that include $(X) in /proj/Makefile names":               "include $(X)\n",
		"the files that /proj/Makefile names, which is too long to be read": strings.Repeat("#", 1<<20) + "\n",
	} {
		m := newMachine(t)
		m.write("usr/bin/make", "\x7fELF make")
		m.write("proj/Makefile", text)
		got := strings.ReplaceAll(fmt.Sprint(m.find(m.command("proj", "make", "serve")).NotCovered), m.root, "")
		if !strings.Contains(got, strings.TrimSuffix(want, " to be read")) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A long file of recipes is no reason to refuse the server that one of them starts.
func TestManyCommandsOfRecipesAreNoError(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("usr/bin/make", "\x7fELF make")
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "r%d:\n\tpython3 server%d\n", i, i)
	}
	m.write("proj/Makefile", text.String())
	m.remember(m.command("proj", "make", "serve"))
}
