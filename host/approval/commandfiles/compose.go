package commandfiles

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// composeFiles are the files in the working directory or above it that say what Compose runs.
var composeFiles = []string{
	"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "compose.override.yaml", "compose.override.yml", "docker-compose.override.yaml",
	"docker-compose.override.yml", "container-compose.yaml", "container-compose.yml", "podman-compose.yaml", "podman-compose.yml",
}

// maxDocuments is the number of documents of a file of Compose up to which it is searched for others.
const maxDocuments = 64

// isCompose reports whether a program of containers runs what a file says.
func isCompose(name string, args []string) bool {
	return strings.HasSuffix(name, "-compose") || slices.Contains(args, "compose") || slices.Contains(args, "stack")
}

// A composeFinder finds the files that Compose reads.
type composeFinder struct {
	*codeFinder
	// dirs are the directories to which paths in any of the files may be relative: that of the
	// project, or that of the first file. Paths may be relative to their own file as well.
	dirs []string
}

// commandLine adds the files of a command line, or those that Compose looks for by itself.
func (c *composeFinder) commandLine(files, environments []string) {
	files = append(files, c.listed(c.env["COMPOSE_FILE"], c.bases)...)
	environments = append(environments, c.listed(c.env["COMPOSE_ENV_FILES"], c.bases)...)
	for _, dir := range c.searched() {
		environments = append(environments, filepath.Join(dir, ".env"))
	}
	for _, at := range environments {
		files = append(files, c.filesOfVariables(at)...)
	}
	for _, at := range files {
		if dir := filepath.Dir(at); c.isRegular(at) && !slices.Contains(c.dirs, dir) {
			c.dirs = append(c.dirs, dir)
		}
	}
	for _, dir := range c.searched() {
		for _, file := range composeFiles {
			files = append(files, filepath.Join(dir, file))
		}
	}
	for _, at := range files {
		c.composeFile(at, 0)
	}
}

// listed returns the paths of the files in a list, which may have any of the separators that a
// variable can choose.
func (c *composeFinder) listed(list string, dirs []string) (paths []string) {
	if list == "" || len(list) > maxVariable {
		return nil
	}
	names := append(strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(":;,", r) }), list)
	for _, name := range names[:min(len(names), maxCodeFiles)] {
		for _, dir := range dirs {
			paths = append(paths, c.expandedReadings(name, dir)...)
		}
	}
	return paths
}

// filesOfVariables adds a file with variables of Compose, and returns the files that its variable
// COMPOSE_FILE names.
func (c *composeFinder) filesOfVariables(at string) (files []string) {
	text := c.text(at)
	for _, line := range strings.Split(text, "\n") {
		name, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export ")) != "COMPOSE_FILE" {
			continue
		}
		value, _, _ = strings.Cut(value, " #")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if strings.Contains(value, "$") {
			c.note("the files that COMPOSE_FILE=%s in %s names", value, at)
		}
		files = append(files, c.listed(value, slices.Concat(c.bases, c.dirs, []string{filepath.Dir(at)}))...)
	}
	return files
}

// text adds a file and returns its content. It says so if the content is too long to be searched
// for other files.
func (c *composeFinder) text(at string) string {
	c.addRegular(at)
	text := c.start(at, maxSearched+1)
	if len(text) > maxSearched {
		c.note("the files that %s names, which is too long to be searched for them", at)
		return ""
	}
	return string(text)
}

// composeFile adds a file, and those that it names.
func (c *composeFinder) composeFile(at string, depth int) {
	if c.read[at] || !c.isRegular(at) {
		return
	}
	c.read[at] = true
	text := c.text(at)
	documents := yaml.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var doc yaml.Node
		err := documents.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil || n == maxDocuments || depth == maxDepth:
			c.note("the files that %s names, which cannot be read", at)
			return
		}
		c.node(&doc, "", slices.Concat([]string{filepath.Dir(at)}, c.dirs), depth)
	}
}

// node adds the files that a part of a file names under a key. Its paths are relative to one of
// the directories.
func (c *composeFinder) node(n *yaml.Node, key string, dirs []string, depth int) {
	switch n.Kind {
	case yaml.MappingNode:
		c.members(n, key, dirs, depth)
	case yaml.ScalarNode:
		for _, dir := range dirs {
			c.scalar(n.Value, key, dir, depth)
		}
	default: // a document or a list; what an alias stands for is elsewhere in the document
		for _, child := range n.Content {
			c.node(child, key, dirs, depth)
		}
	}
}

// members is node for a mapping.
func (c *composeFinder) members(n *yaml.Node, key string, dirs []string, depth int) {
	members := make(map[string]string)
	for i := 0; i+1 < len(n.Content); i += 2 {
		members[n.Content[i].Value] = n.Content[i+1].Value
	}
	if dir := members["project_directory"]; dir != "" && key == "include" {
		for _, base := range dirs {
			c.dirs = append(c.dirs, c.expandedReadings(dir, base)...)
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if key == "extends" && name == "file" || key == "include" && name == "path" { // of Compose, whatever its suffix
			name = key
		}
		c.node(n.Content[i+1], name, dirs, depth)
	}
	c.recipe(members["context"], members["dockerfile"], dirs)
}

// recipe adds the recipe of an image.
func (c *composeFinder) recipe(context, recipe string, dirs []string) {
	if context == "" || recipe == "" {
		return
	}
	for _, dir := range dirs {
		for _, at := range c.expandedReadings(context, dir) {
			for _, file := range c.readings(recipe, at) {
				c.addRegular(file)
			}
		}
	}
}

// namingKeys are those whose value is a file or a directory.
var namingKeys = []string{"env_file", "file", "extends", "include", "path", "build", "context", "dockerfile", "volumes", "source", "project_directory"}

// scalar adds the file that a text names under a key.
func (c *composeFinder) scalar(text, key, dir string, depth int) {
	switch {
	case c.err != nil || text == "" || len(text) > maxVariable:
		return
	case strings.Contains(text, "$") && slices.Contains(namingKeys, key):
		c.note("the file or directory that %s in %s names", text, dir)
		return
	case key == "volumes":
		c.mount(text, dir)
		return
	}
	for _, at := range c.expandedReadings(text, dir) {
		c.named(at, key, depth)
	}
}

// named adds a file that is named under a key.
func (c *composeFinder) named(at, key string, depth int) {
	suffix := strings.ToLower(filepath.Ext(at))
	switch {
	case key == "source":
		c.mounted(at, false)
	case slices.Contains([]string{"build", "context"}, key) && c.isDir(at):
		c.note("the files in %s, of which an image is built", at)
		for _, recipe := range []string{"Dockerfile", "Containerfile"} {
			c.addRegular(filepath.Join(at, recipe))
		}
	case suffix == ".yaml" || suffix == ".yml", key == "extends", key == "include":
		c.composeFile(at, depth+1)
	default:
		c.addRegular(at)
	}
}
