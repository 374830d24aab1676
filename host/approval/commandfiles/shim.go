package commandfiles

import (
	"encoding/json/v2"
	"path/filepath"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// behindShim returns the program that a shim of a version manager starts. It is empty if
// the file is no shim. A shim whose program cannot be found is reported.
func (c *codeFinder) behindShim(file string) string {
	dir, name := filepath.Dir(file), filepath.Base(file)
	root := filepath.Dir(dir)
	var real string
	switch {
	case filepath.Base(dir) == "shims" && c.isRegular(filepath.Join(root, "libexec", strings.TrimPrefix(filepath.Base(root), "."))),
		filepath.Base(dir) == "shims" && c.isDir(filepath.Join(root, "versions")):
		real = c.behindEnvShim(root, name)
	case filepath.Base(dir) == "shims" && c.isDir(filepath.Join(root, "installs")):
		real = c.behindInstallShim(root, file, name)
	case filepath.Base(dir) == "bin" && strings.Contains(userfile.RealPath(file), "volta-shim"):
		real = c.voltaProgram(root, name)
	case filepath.Base(dir) != "shims":
		return ""
	}
	if real == "" || !c.isRegular(real) {
		c.note("the program behind the shim %s, which its version manager chooses", file)
		return ""
	}
	return real
}

// behindEnvShim finds the program of pyenv, rbenv, nodenv and the like: in the version that
// a variable, a file above the working directory, or the file of the user names.
func (c *codeFinder) behindEnvShim(root, name string) string {
	manager := strings.TrimPrefix(filepath.Base(root), ".") // such as pyenv
	language := map[string]string{"pyenv": "python", "rbenv": "ruby", "nodenv": "node", "goenv": "go", "plenv": "perl", "phpenv": "php", "jenv": "java"}[manager]
	versions := c.env[strings.ToUpper(manager)+"_VERSION"]
	if versions == "" && language != "" {
		versions = c.wordsOfFileAbove(c.dir, "."+language+"-version")
	}
	if versions == "" {
		versions = c.wordsOfFile(filepath.Join(root, "version"))
	}
	for _, version := range strings.FieldsFunc(versions, func(r rune) bool { return r == ':' || r == ' ' }) {
		if version == "system" {
			break
		}
		for _, at := range versionDirs(root, version) {
			if file := filepath.Join(at, "bin", name); c.isRegular(file) {
				return file
			}
		}
	}
	return c.withoutShims(root, name)
}

// versionDirs returns the directories of a version such as 3.12, newest first. Names that
// would leave the directory are ignored.
func versionDirs(root, version string) []string {
	if version != filepath.Base(version) {
		return nil
	}
	dirs := []string{filepath.Join(root, "versions", version)}
	more, _ := filepath.Glob(filepath.Join(root, "versions", version+".*"))
	for i := len(more) - 1; i >= 0; i-- {
		dirs = append(dirs, more[i])
	}
	return dirs
}

// withoutShims looks a program up in the PATH without the directory of the shims.
func (c *codeFinder) withoutShims(root, name string) string {
	var rest []string
	for _, dir := range filepath.SplitList(c.path) {
		if dir != filepath.Join(root, "shims") {
			rest = append(rest, dir)
		}
	}
	found, _ := c.lookUp(name, strings.Join(rest, string(filepath.ListSeparator)))
	return found
}

// behindInstallShim finds the program of asdf, whose shims name the plugin and its versions.
func (c *codeFinder) behindInstallShim(root, shim, name string) string {
	wanted := c.wordsOfFileAbove(c.dir, ".tool-versions")
	if wanted == "" {
		wanted = c.wordsOfFile(filepath.Join(c.home, ".tool-versions"))
	}
	for _, line := range strings.Split(string(c.start(shim, 64<<10)), "\n") {
		words := strings.Fields(line)
		if len(words) != 4 || words[1] != "asdf-plugin:" {
			continue
		}
		plugin, version := words[2], words[3]
		if !strings.Contains(" "+wanted+" ", " "+plugin+" "+version+" ") || plugin != filepath.Base(plugin) || version != filepath.Base(version) {
			continue
		}
		return filepath.Join(root, "installs", plugin, version, "bin", name)
	}
	return ""
}

// voltaProgram finds the program of Volta in the user's default platform.
func (c *codeFinder) voltaProgram(root, name string) string {
	var platform struct {
		Node struct {
			Runtime string `json:"runtime"`
		} `json:"node"`
	}
	text := c.start(filepath.Join(root, "tools", "user", "platform.json"), 64<<10)
	version := ""
	if json.Unmarshal(text, &platform) == nil {
		version = platform.Node.Runtime
	}
	if version == "" || version != filepath.Base(version) {
		return ""
	}
	return filepath.Join(root, "tools", "image", "node", version, "bin", name)
}
