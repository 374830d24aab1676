package commandfiles

import (
	"path/filepath"
	"slices"
	"strings"
)

// recipeFlags are the flags of programs that run recipes whose value is a file of recipes.
var recipeFlags = map[string][]string{
	"make": {"-f", "--file", "--makefile"}, "just": {"-f", "--justfile"}, "task": {"-t", "--taskfile"}, "rake": {"-f", "--rakefile"},
	"foreman": {"-f", "--procfile"}, "honcho": {"-f", "--procfile"},
}

// recipeDirectoryFlags are those whose value is a directory with files of recipes, or that in
// which the recipes run.
var recipeDirectoryFlags = map[string][]string{
	"make": {"-I", "--include-dir"}, "just": {"-d", "--working-directory"}, "task": {"-d"}, "rake": {"-R", "--rakelibdir", "--rakelib"},
}

// includes are the words at the start of a line before the names of other files of recipes.
var includes = map[string][]string{
	"make": {"include", "-include", "sinclude"}, "just": {"import", "import?", "mod", "mod?"}, "rake": {"import", "load", "require_relative"},
}

// sections are the keys of a Taskfile under which there are names of files.
var sections = []string{"includes", "dotenv"}

// recipes adds the files of recipes that a program reads besides those with common names.
func (c *codeFinder) recipes(name string, args []string) {
	if recipeFlags[name] == nil {
		return
	}
	for i, arg := range args {
		if dir := shortValue(arg, args, i, recipeDirectoryFlags[name]); dir != "" {
			c.directory(dir)
		}
		for _, at := range c.places(argumentOf(arg, args, i, "--dotenv-path", "--dotenv-filename", "-E")) {
			if name == "just" {
				c.addRegular(at)
			}
		}
	}
	for _, dir := range c.searched() {
		c.recipesIn(name, dir)
	}
}

// recipesIn adds the files of recipes in a directory whose names are not among the common ones.
func (c *codeFinder) recipesIn(name, dir string) {
	for _, file := range c.names(dir) {
		lower := strings.ToLower(file)
		switch {
		case name == "just" && (lower == "justfile" || lower == ".justfile"):
			c.recipe(name, filepath.Join(dir, file))
		case name == "rake" && lower == "rakelib":
			for _, part := range c.names(filepath.Join(dir, file)) {
				if filepath.Ext(part) == ".rake" {
					c.recipe(name, filepath.Join(dir, file, part))
				}
			}
		case name == "rake" && filepath.Ext(lower) == ".rake" && slices.Contains(c.bases, dir): // a directory of -R
			c.recipe(name, filepath.Join(dir, file))
		}
	}
}

// recipe adds a file of recipes, what it includes, and the code that it names.
func (c *codeFinder) recipe(name, file string) {
	if c.read[file] || !c.isRegular(file) {
		return
	}
	c.read[file] = true
	c.add(RoleScript, file)
	text := string(c.start(file, maxSearched+1))
	if len(text) > maxSearched {
		c.note("the files that %s names, which is too long to be searched for them", file)
		return
	}
	section := ""
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		words := recipeWords(line)
		if len(words) == 0 {
			continue
		}
		if line[0] != ' ' && line[0] != '-' {
			section = words[0]
		}
		c.recipeLine(name, file, section, line, words)
	}
}

func recipeWords(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return isShellSeparator(r) || strings.ContainsRune("[]{}:\r", r) })
}

// recipeLine adds what one line of a file of recipes names.
func (c *codeFinder) recipeLine(name, file, section, line string, words []string) {
	switch {
	case slices.Contains(includes[name], words[0]), name == "task" && (slices.Contains(sections, section) || words[0] == "dotenv"):
		if strings.ContainsAny(line, "$") || strings.Contains(line, "{{") {
			c.note("the files that %s in %s names", strings.TrimSpace(line), file)
		}
		for _, word := range words[1:] {
			c.included(name, file, word)
		}
		if len(words) == 1 { // an element of a list
			c.included(name, file, words[0])
		}
	case name == "just" && words[0] == "set" && len(words) > 2 && strings.HasPrefix(words[1], "dotenv-"):
		for _, dir := range c.searched() {
			c.addRegular(absolute(words[len(words)-1], dir))
		}
	}
	for _, word := range words {
		for _, at := range c.readings(word, filepath.Dir(file)) {
			if !c.found.has(at) && c.isRegular(at) && isCode(at) {
				c.add(RoleScript, at)
			}
		}
	}
	c.interpretersIn(c.splitCode(line))
}

// included adds the files that a file of recipes includes by a name. It is relative to that file
// or to the working directory, and may be that of a directory or of a module, or have wildcards.
func (c *codeFinder) included(name, file, word string) {
	for _, dir := range slices.Concat([]string{filepath.Dir(file)}, c.bases) {
		for _, at := range c.readings(word, dir) {
			for _, at := range c.matching(at) {
				c.recipe(name, at)
				if name == "just" {
					c.recipe(name, at+".just")
				}
				if !c.isDir(at) {
					continue
				}
				for _, common := range append([]string{"mod.just"}, configurationFiles[name]...) {
					c.recipe(name, filepath.Join(at, common))
				}
				c.recipesIn(name, at)
			}
		}
	}
}

// matching returns the paths that a path with wildcards in its last element matches, or else the
// path itself.
func (c *codeFinder) matching(path string) (paths []string) {
	dir, pattern := filepath.Split(path)
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{path}
	}
	for _, name := range c.names(dir) {
		if ok, _ := filepath.Match(pattern, name); ok {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// interpretersIn regards the commands of recipes with interpreters. Those with other programs are
// named, because most recipes of a file are not the one that runs.
func (c *codeFinder) interpretersIn(commands [][]string) {
	for _, words := range commands {
		for i, word := range words {
			word = strings.TrimLeft(word, "@-+") // which make knows before a command
			if _, ok := interpreterNamed(programName(word)); ok && len(c.commands) < maxCommands/2 {
				c.guess(append([]string{word}, words[i+1:]...), 0)
			}
		}
	}
}

// denoTasks adds the files of deno.json: what its tasks run, if one is to be run, and the map of
// its imports.
func (c *codeFinder) denoTasks(args []string) {
	for _, dir := range c.searched() {
		for _, name := range []string{"deno.json", "deno.jsonc"} {
			file := filepath.Join(dir, name)
			text := string(c.start(file, maxSearched))
			words := recipeWords(text)
			for i := range words {
				if i > 0 && words[i-1] == "importMap" {
					c.addRegular(absolute(words[i], dir))
				}
			}
			if slices.Contains(args, "task") {
				c.recipe("deno", file)
			}
		}
	}
}
