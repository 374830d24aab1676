package commandfiles

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// containerPrograms run programs that do not see the working directory.
var containerPrograms = []string{"docker", "podman", "nerdctl", "docker-compose", "podman-compose"}

// containers adds the files with which a program of containers decides what it runs, and those
// that a container gets. What is in an image is covered by its digest alone.
func (c *codeFinder) containers(name string, args []string) {
	compose := composeFinder{codeFinder: c}
	for i, arg := range args {
		if dir := argumentOf(arg, args, i, "--project-directory"); dir != "" {
			c.directory(dir)
			compose.dirs = append(compose.dirs, c.places(dir)...)
		}
		if dir := argumentOf(arg, args, i, "--config"); dir != "" {
			c.note("what %s reads in the directory of its settings, %s", name, dir)
		}
		for _, base := range c.bases {
			if rest, ok := strings.CutPrefix(arg, "-v"); ok && rest != "" {
				c.mount(strings.TrimPrefix(rest, "="), base)
			}
			c.mount(argumentOf(arg, args, i, "--volume", "--mount"), base)
			if i > 0 && mountSwitches.MatchString(args[i-1]) {
				c.mount(arg, base)
			}
		}
	}
	var files, environments []string
	for i, arg := range args {
		files = append(files, c.places(argumentOf(arg, args, i, "--file", "--compose-file", "-f", "-c"))...)
		environments = append(environments, c.places(argumentOf(arg, args, i, "--env-file", "--label-file"))...)
	}
	if !isCompose(name, args) {
		for _, at := range slices.Concat(files, environments) {
			c.addRegular(at)
		}
		return
	}
	compose.commandLine(files, environments)
}

// mountSwitches match short flags without values before -v, whose value is the next word.
var mountSwitches = regexp.MustCompile(`^-[A-Za-z]*v$`)

// mount regards what a container gets by an argument such as DIR:/data or
// type=bind,source=DIR,target=/data.
func (c *codeFinder) mount(arg, base string) {
	source, rest, _ := strings.Cut(arg, ":")
	_, flags, _ := strings.Cut(rest, ":")
	readOnly := slices.Contains(strings.Split(flags, ","), "ro")
	if strings.Contains(arg, "=") {
		fields := strings.Split(arg, ",")
		readOnly = readOnly || slices.Contains(fields, "readonly") || slices.Contains(fields, "ro")
		for _, field := range fields {
			if name, value, _ := strings.Cut(field, "="); name == "source" || name == "src" {
				source = value
			}
		}
	}
	if source == "" || !strings.ContainsAny(source, `./\`) {
		return
	}
	for _, at := range c.expandedReadings(source, base) {
		c.mounted(at, readOnly)
	}
}

// mounted names a directory that a container gets, and adds a file. A file that the container
// may write, and whose name says that it has data, is data.
func (c *codeFinder) mounted(at string, readOnly bool) {
	switch {
	case c.isDir(at):
		c.note("the files in %s, which a container gets", at)
	case !c.isRegular(at):
	case readOnly || isCode(at) || !isWritten(at):
		c.add(RoleScript, at)
	case !slices.Contains(c.found.Data, at):
		c.found.Data = append(c.found.Data, at)
	}
}

// writtenSuffixes are those of files that programs write while they run.
var writtenSuffixes = strings.Fields(".db .db3 .sqlite .sqlite3 .duckdb .mdb .log .jsonl .csv .tsv .parquet .pid .sock .bak")

func isWritten(path string) bool {
	return slices.Contains(writtenSuffixes, strings.ToLower(filepath.Ext(path)))
}

func (c *codeFinder) addRegular(at string) {
	if c.isRegular(at) {
		c.add(RoleScript, at)
	}
}

// expanded returns the absolute path of a file that a program names with "~" for the home
// directory.
func (c *codeFinder) expanded(path, base string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(c.home, rest)
	}
	return absolute(path, base)
}

// expandedReadings is readings for a path that may begin with "~".
func (c *codeFinder) expandedReadings(path, base string) []string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return c.readings(rest, c.home)
	}
	return c.readings(path, base)
}
