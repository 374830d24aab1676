package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// OwnPath returns where the host's own configuration is, or would be:
// fondaco/mcp.json in the directory of the XDG Base Directory Specification, which
// is ~/.config by default. It is empty where the environment tells of no home.
func OwnPath(env Env) string {
	path := below(xdg(env), "fondaco", "mcp.json")
	if !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// Find returns OwnPath, or the empty string when there is no file. One that is
// there and cannot be read is found, so that Load says why.
func Find(env Env) string {
	path := OwnPath(env)
	if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// Foreign is the configuration of another program. The host does not read it
// unless it is told to.
type Foreign struct {
	Client Client
	Path   string
	// Project tells that the file belongs to the working directory.
	Project bool
}

// FindForeign returns the configurations of other programs that there are, in
// the user's directories and in the working directory dir.
func FindForeign(env Env, dir string) (found []Foreign) {
	for _, c := range clients {
		for _, path := range c.files(env, runtime.GOOS) {
			if isFile(path) {
				found = append(found, Foreign{Client: c, Path: path})
			}
		}
		for _, name := range c.project {
			path := filepath.Join(dir, filepath.FromSlash(name))
			known := slices.ContainsFunc(found, func(f Foreign) bool { return f.Path == path })
			if !known && isFile(path) {
				found = append(found, Foreign{Client: c, Path: path, Project: true})
			}
		}
	}
	return found
}

// workspaceOf returns the directory of the project that a file belongs to: that
// which the file is in, or the one above hidden directories. Files of the user
// belong to no project.
func workspaceOf(path string, env Env) string {
	if path == OwnPath(env) {
		return ""
	}
	for _, c := range clients {
		if slices.Contains(c.files(env, runtime.GOOS), path) {
			return ""
		}
		for _, name := range c.project {
			if dir, ok := strings.CutSuffix(filepath.ToSlash(path), "/"+name); ok {
				return filepath.FromSlash(dir)
			}
		}
	}
	return filepath.Dir(path)
}
