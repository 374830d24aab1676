package commandfiles

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// scriptsOfCommands are the scripts of package.json that commands of npm run, for which npm
// accepts any unambiguous beginning.
var scriptsOfCommands = map[string][]string{
	"start": {"start"}, "stop": {"stop"}, "test": {"test"}, "tst": {"test"}, "t": {"test"}, "restart": {"restart", "stop", "start"},
	"install": installScripts, "i": installScripts, "in": installScripts, "add": installScripts, "ci": installScripts, "clean-install": installScripts, "install-clean": installScripts,
	"install-test": append([]string{"test"}, installScripts...), "it": append([]string{"test"}, installScripts...), "sit": append([]string{"test"}, installScripts...),
	"install-ci-test": append([]string{"test"}, installScripts...), "cit": append([]string{"test"}, installScripts...), "rebuild": installScripts, "rb": installScripts, "link": installScripts,
}

// installScripts are those that run when a package is installed from its directory.
var installScripts = []string{"install", "prepublish", "prepublishOnly", "prepare", "prepack", "pack", "dependencies"}

// scriptCommands are the commands that run a script by its name.
var scriptCommands = []string{"run", "run-script", "rum", "urn"}

// packageScripts adds the files that scripts of package.json run if arguments name the scripts.
func (c *codeFinder) packageScripts(args []string, depth int) {
	names := scriptNames(args)
	for _, dir := range c.searched() {
		m, ok := c.manifest(dir)
		if !ok {
			continue
		}
		scripts := m.texts("scripts")
		for _, name := range slices.Sorted(maps.Keys(scripts)) {
			if slices.ContainsFunc(names, func(pattern string) bool { return runsScript(pattern, name) }) {
				c.packageScriptCode(dir, scripts[name], depth)
			}
		}
		if slices.Contains(names, "start") && scripts["start"] == "" { // npm runs a file then
			if server := filepath.Join(dir, "server.js"); c.isRegular(server) {
				c.add(RoleScript, server)
			}
		}
	}
}

// scriptNames returns the names and patterns of scripts among arguments.
func scriptNames(args []string) (names []string) {
	for _, arg := range args {
		names = append(names, arg)
		for command, scripts := range scriptsOfCommands {
			if command == arg || len(arg) > 1 && strings.HasPrefix(command, arg) {
				names = append(names, scripts...)
			}
		}
	}
	return names
}

// runsScript reports whether an argument runs a script, perhaps before or behind another one: by
// its name, or as one of several with a pattern such as "build:*" or "/^build/".
func runsScript(pattern, script string) bool {
	if len(pattern) > 2 && pattern[0] == '/' && pattern[len(pattern)-1] == '/' {
		return true
	}
	return matches(pattern, script) || matches(pattern, strings.TrimPrefix(script, "pre")) || matches(pattern, strings.TrimPrefix(script, "post"))
}

// packageScriptCode adds what the code of a script runs in the directory of its package. The
// programs in node_modules/.bin there and above come before the PATH.
func (c *codeFinder) packageScriptCode(dir, code string, depth int) {
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%d", dir, code, c.path, len(c.bases))
	if c.tree.scripts[key] || depth >= maxDepth {
		return
	}
	if c.tree.scripts == nil {
		c.tree.scripts = make(map[string]bool)
	}
	c.tree.scripts[key] = true
	before := c.path
	defer func() { c.path = before }()
	var bins []string
	for above := dir; ; above = filepath.Dir(above) {
		if bin := filepath.Join(above, "node_modules", ".bin"); c.isDir(bin) {
			c.programsIn(bin, foundFirst, depth)
			bins = append(bins, bin)
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	rest := slices.DeleteFunc(filepath.SplitList(before), func(dir string) bool { return slices.Contains(bins, dir) })
	c.path = strings.Join(slices.Concat(bins, rest), string(filepath.ListSeparator))
	c.directory(dir)
	c.directories([]string{code})
	c.shellCode(c.splitCode(code), depth)
	c.file(code)
	for _, word := range strings.FieldsFunc(code, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;&|(),", r) }) {
		if manager, script, ok := strings.Cut(word, ":"); ok && nodeManagers[manager] { // as for concurrently
			c.packageScripts([]string{script}, depth+1)
		}
	}
}

// lifecycle adds what runs when a package is installed from its directory.
func (c *codeFinder) lifecycle(dir string, depth int) {
	m, ok := c.manifest(dir)
	if !ok {
		return
	}
	scripts := m.texts("scripts")
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if slices.ContainsFunc(installScripts, func(pattern string) bool { return runsScript(pattern, name) }) {
			c.packageScriptCode(dir, scripts[name], depth)
			c.note("what the script %s of the package in %s runs", name, dir)
		}
	}
	if gyp := filepath.Join(dir, "binding.gyp"); c.isRegular(gyp) {
		c.add(RoleScript, gyp)
		c.note("what is compiled of the package in %s", dir)
	}
	if len(m.texts("dependencies"))+len(m.texts("optionalDependencies"))+len(m.texts("peerDependencies")) > 0 {
		c.note("the packages that the package in %s needs", dir)
	}
}

// nodeNote says what a command of a package manager runs that no digest covers.
func nodeNote(name string, args, operands []string, positions []int) string {
	for len(operands) > 0 && (operands[0] == "workspace" || operands[0] == "workspaces" || operands[0] == "foreach" || operands[0] == "recursive") {
		skip := 1
		if operands[0] == "workspace" {
			skip = min(2, len(operands))
		}
		operands, positions = operands[skip:], positions[skip:]
	}
	if len(operands) == 0 {
		return ""
	}
	script := ""
	switch verb := operands[0]; {
	case slices.Contains([]string{"exec", "exe", "x", "dlx", "create", "init", "innit"}, verb):
		return packageNote(name, args, positions[1:])
	case slices.Contains(scriptCommands, verb):
		if len(operands) > 1 {
			script = operands[1]
		}
	case scriptsOfCommands[verb] != nil:
		script = scriptsOfCommands[verb][0]
	}
	if script == "" {
		return ""
	}
	return sprintEscaped("the script %s of package.json and what it runs", script)
}

// managerOfScript returns the package manager whose script Node.js runs, empty for other scripts.
func managerOfScript(file string) string {
	return map[string]string{
		"npx-cli.js": "npx", "npm-cli.js": "npm", "npx-cli.mjs": "npx", "npm-cli.mjs": "npm", "pnpm.cjs": "pnpm", "pnpx.cjs": "pnpx", "pnpm.mjs": "pnpm", "yarn.js": "yarn", "yarn.cjs": "yarn",
	}[filepath.Base(file)]
}
