package commandfiles

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// workspaces adds the directories of the workspaces that a package manager is told to run
// something in. A workspace is selected by its name or its directory.
func (c *codeFinder) workspaces(args, settings []string) {
	selectors := selectedWorkspaces(args, settings)
	if len(selectors) == 0 {
		return
	}
	all := c.workspaceDirs()
	for _, selector := range selectors {
		found := false
		for _, dir := range all {
			if c.isSelected(selector, dir) {
				c.directory(dir)
				found = true
			}
		}
		if !found && selector != "*" && c.guesses == 0 {
			c.note("what runs in the workspace %s, which is not there", selector)
		}
	}
}

// selectedWorkspaces returns the names, directories and patterns of workspaces in arguments and
// settings, "*" for all.
func selectedWorkspaces(args, settings []string) (selectors []string) {
	for i, setting := range settings {
		if selector := argumentOf(setting, settings, i, "--workspace", "--filter", "--filter-prod"); selector != "" {
			selectors = append(selectors, selector)
		}
		if name, value, _ := strings.Cut(setting, "="); value != "false" && (name == "--workspaces" || name == "--recursive") {
			selectors = append(selectors, "*")
		}
	}
	for i, arg := range args[:packageEnd(args)] {
		switch {
		case arg == "workspace" && i+1 < len(args):
			selectors = append(selectors, args[i+1])
		case slices.Contains([]string{"workspaces", "recursive", "multi", "m"}, arg):
			selectors = append(selectors, "*")
		}
	}
	return selectors
}

// isSelected reports whether a selector may select the workspace in a directory. What is not
// understood selects all.
func (c *codeFinder) isSelected(selector, dir string) bool {
	if selector == "*" || strings.ContainsAny(selector, "![") || strings.Contains(selector, "...") {
		return true
	}
	pattern := strings.Trim(selector, "{}")
	for _, base := range c.searched() {
		if at := absolute(filepath.FromSlash(pattern), base); dir == at || userfile.IsBelow(dir, at) && at != base {
			return true
		}
		if rel, err := filepath.Rel(base, dir); err == nil && matches(strings.TrimPrefix(pattern, "./"), filepath.ToSlash(rel)) {
			return true
		}
	}
	m, _ := c.manifest(dir)
	return matches(pattern, m.name()) || matches(pattern, path.Base(m.name())) || matches(pattern, filepath.Base(dir))
}

// matches is path.Match, for which "**" and a single "*" match separators as well.
func matches(pattern, name string) bool {
	if before, after, ok := strings.Cut(pattern, "*"); ok {
		return strings.HasPrefix(name, before) && strings.HasSuffix(name, after[strings.LastIndex(after, "*")+1:])
	}
	return pattern == name
}

// workspaceDirs returns the directories of all workspaces of the projects in which the working
// directories are.
func (c *codeFinder) workspaceDirs() (dirs []string) {
	for _, root := range c.searched() {
		for _, dir := range c.workspacesOf(root) {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// workspacesOf returns the directories of the workspaces that the package.json of a directory, or
// pnpm-workspace.yaml, names. Patterns that leave some out are ignored.
func (c *codeFinder) workspacesOf(root string) (dirs []string) {
	if dirs, ok := c.tree.workspaces[root]; ok {
		return dirs
	}
	if c.tree.workspaces == nil {
		c.tree.workspaces = make(map[string][]string)
	}
	defer func() { c.tree.workspaces[root] = dirs }()
	m, _ := c.manifest(root)
	patterns := m.list("workspaces")
	if len(patterns) == 0 {
		patterns = m.members("workspaces").list("packages")
	}
	patterns = append(patterns, c.wordsInQuotes(filepath.Join(root, "pnpm-workspace.yaml"))...)
	for _, pattern := range patterns {
		segments := strings.Split(path.Clean(filepath.ToSlash(pattern)), "/")
		for _, dir := range c.expand(root, segments, 0) {
			if dir != root && !slices.Contains(dirs, dir) && c.isRegular(filepath.Join(dir, "package.json")) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// wordsInQuotes returns the words of a file in YAML, of which those that are no patterns find
// nothing.
func (c *codeFinder) wordsInQuotes(file string) []string {
	return strings.FieldsFunc(string(c.settingsText(file)), func(r rune) bool { return strings.ContainsRune(" \t\r\n\"',[]#:", r) })
}

// expand returns the directories that a pattern matches: "*" and "?" in names, "**" for any
// number of directories.
func (c *codeFinder) expand(dir string, segments []string, depth int) (dirs []string) {
	if len(segments) == 0 {
		return []string{dir}
	}
	segment, rest := segments[0], segments[1:]
	if !strings.ContainsAny(segment, "*?[{") {
		next := filepath.Join(dir, filepath.FromSlash(segment))
		if !c.isDir(next) {
			return nil
		}
		return c.expand(next, rest, depth)
	}
	if segment == "**" {
		dirs = c.expand(dir, rest, depth)
	}
	for _, name := range c.directoriesIn(dir) {
		next := filepath.Join(dir, name)
		switch ok, err := path.Match(segment, name); {
		case depth == maxDepth:
		case segment == "**":
			dirs = append(dirs, c.expand(next, segments, depth+1)...)
		case ok, err != nil, strings.Contains(segment, "{"):
			dirs = append(dirs, c.expand(next, rest, depth)...)
		}
	}
	return dirs
}
