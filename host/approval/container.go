package approval

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// containerPrograms run programs that do not see the working directory.
var containerPrograms = []string{"docker", "podman", "nerdctl", "docker-compose", "podman-compose"}

// composeFiles are the files in the working directory or above it that say what Compose runs.
var composeFiles = []string{
	"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "compose.override.yaml", "compose.override.yml", "docker-compose.override.yaml",
	"docker-compose.override.yml", "container-compose.yaml", "container-compose.yml", "podman-compose.yaml", "podman-compose.yml", ".env",
}

const (
	// maxComposeFile is the size in bytes of a file of Compose up to which it is searched for
	// others, and maxDocuments the number of its documents.
	maxComposeFile = 1 << 20
	maxDocuments   = 64
)

// isCompose reports whether a program of containers runs what a file says.
func isCompose(name string, args []string) bool {
	return strings.HasSuffix(name, "-compose") || slices.Contains(args, "compose") || slices.Contains(args, "stack")
}

// containers adds the files with which a program of containers decides what it runs, and names
// the directories that a container gets. What is in an image is covered by its digest alone.
func (c *codeFinder) containers(name string, args []string) {
	isCompose := isCompose(name, args)
	for i, arg := range args {
		if dir := argumentOf(arg, args, i, "--project-directory"); dir != "" {
			c.directory(dir)
		}
		for _, at := range c.places(argumentOf(arg, args, i, "--env-file", "--label-file", "--file", "--compose-file", "-f", "-c")) {
			c.containerFile(at, isCompose, 0)
		}
		for _, base := range c.bases {
			if rest, ok := strings.CutPrefix(arg, "-v"); ok && rest != "" {
				c.mount(strings.TrimPrefix(rest, "="), base)
			}
			c.mount(argumentOf(arg, args, i, "--volume", "--mount", "-v"), base)
		}
	}
	if !isCompose {
		return
	}
	for _, list := range filepath.SplitList(c.env["COMPOSE_FILE"]) {
		c.containerFile(absolute(list, c.dir), true, 0)
	}
	for _, dir := range c.searched() {
		for _, file := range composeFiles {
			c.containerFile(filepath.Join(dir, file), true, 0)
		}
	}
}

// mount names the directory that a container gets by an argument such as DIR:/data or
// type=bind,source=DIR,target=/data.
func (c *codeFinder) mount(arg, base string) {
	source, _, _ := strings.Cut(arg, ":")
	if strings.Contains(arg, "=") {
		for _, field := range strings.Split(arg, ",") {
			if name, value, _ := strings.Cut(field, "="); name == "source" || name == "src" {
				source = value
			}
		}
	}
	if source != "" && strings.ContainsAny(source, `./\`) {
		c.mounted(c.expanded(source, base))
	}
}

// mounted names a directory that a container gets.
func (c *codeFinder) mounted(at string) {
	if c.isDir(at) {
		c.note("the files in %s, which a container gets", at)
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

// containerFile adds a file, and those that it names if it is one of Compose.
func (c *codeFinder) containerFile(at string, isCompose bool, depth int) {
	if !c.isRegular(at) || c.files.has(at) {
		return
	}
	c.add(RoleScript, at)
	if !isCompose || depth == maxDepth {
		return
	}
	documents := yaml.NewDecoder(bytes.NewReader(c.start(at, maxComposeFile)))
	for range maxDocuments {
		var doc yaml.Node
		if err := documents.Decode(&doc); err != nil {
			return
		}
		c.composeNode(&doc, "", filepath.Dir(at), depth)
	}
}

// composeNode adds the files that a part of a file of Compose names under a key.
func (c *codeFinder) composeNode(n *yaml.Node, key, dir string, depth int) {
	switch n.Kind {
	case yaml.MappingNode:
		context, recipe := "", ""
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch value := n.Content[i+1]; n.Content[i].Value {
			case "context":
				context = value.Value
			case "dockerfile":
				recipe = value.Value
			}
			c.composeNode(n.Content[i+1], n.Content[i].Value, dir, depth)
		}
		if context != "" && recipe != "" {
			c.containerFile(absolute(recipe, absolute(context, dir)), false, 0)
		}
	case yaml.ScalarNode:
		c.composeText(n.Value, key, dir, depth)
	default: // a document or a list; what an alias stands for is elsewhere in the document
		for _, child := range n.Content {
			c.composeNode(child, key, dir, depth)
		}
	}
}

// composeText adds the file that a text of a file of Compose names under a key.
func (c *codeFinder) composeText(text, key, dir string, depth int) {
	at := c.expanded(text, dir)
	switch {
	case c.err != nil || text == "" || len(text) > maxVariable:
	case key == "source":
		c.mounted(at)
	case key == "volumes":
		c.mount(text, dir)
	case strings.Contains(text, "$") && slices.Contains([]string{"env_file", "file", "extends", "include", "path", "build", "context", "dockerfile"}, key):
		c.note("the file or directory that %s in %s names", text, dir)
	case slices.Contains([]string{"build", "context"}, key) && c.isDir(at):
		c.note("the files in %s, of which an image is built", at)
		for _, recipe := range []string{"Dockerfile", "Containerfile"} {
			c.containerFile(filepath.Join(at, recipe), false, 0)
		}
	default:
		suffix := strings.ToLower(filepath.Ext(at))
		c.containerFile(at, suffix == ".yaml" || suffix == ".yml", depth+1)
	}
}
