package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// DefaultPath returns the path of the host's own configuration: fondaco/mcp.json in the
// directory of the XDG Base Directory Specification, ~/.config by default. It is empty if
// the environment names no home directory.
func DefaultPath(env Env) string {
	path := joinIfKnown(xdg(env), "fondaco", "mcp.json")
	if !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// Find returns DefaultPath, or the empty string if there is no file. A file that cannot
// be read is returned, so that Load reports the reason.
func Find(env Env) string {
	path := DefaultPath(env)
	if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// ClientConfig is the configuration file of an MCP client. The host reads it only when
// asked to, or to see whether it has servers.
type ClientConfig struct {
	Client Client
	Path   string
	// Project reports whether the file belongs to the working directory.
	Project bool
}

// FindClientConfigs returns the existing configuration files of MCP clients, in the
// user's directories and in the working directory dir.
func FindClientConfigs(env Env, dir string) (found []ClientConfig) {
	for _, c := range clients {
		for _, path := range c.files(env, runtime.GOOS) {
			if isFile(path) {
				found = append(found, ClientConfig{Client: c, Path: path})
			}
		}
		for _, name := range c.project {
			path := filepath.Join(dir, filepath.FromSlash(name))
			known := slices.ContainsFunc(found, func(f ClientConfig) bool { return f.Path == path })
			if !known && userfile.CheckLocal(path, dir) == nil && isFile(path) {
				found = append(found, ClientConfig{Client: c, Path: path, Project: true})
			}
		}
	}
	return found
}

// workspaceOf returns the directory of the project that a file belongs to: the directory
// of the file, or the one above hidden directories. Files of the user belong to no
// project.
func workspaceOf(path string, env Env) string {
	if path == DefaultPath(env) {
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
