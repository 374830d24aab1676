package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Find returns the path of the host's own configuration, or the empty string
// when there is none: fondaco/mcp.json in the directory of the XDG Base
// Directory Specification, which is ~/.config by default. One that is there and
// cannot be read is found, so that Load says why.
func Find(env Env) string {
	dir, _ := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(home(env), ".config")
	}
	path := filepath.Join(dir, "fondaco", "mcp.json")
	if _, err := os.Stat(path); !filepath.IsAbs(dir) || errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// Foreign is the configuration of another program. The host does not read it
// unless it is told to.
type Foreign struct{ Program, Path string }

// foreignPlaces are where other programs keep their configuration, with the
// variable that each path starts from, or none for the working directory.
var foreignPlaces = []struct{ program, base, path string }{
	{"Claude Desktop", "HOME", ".config/Claude/claude_desktop_config.json"},
	{"Claude Desktop", "HOME", "Library/Application Support/Claude/claude_desktop_config.json"},
	{"Claude Desktop", "APPDATA", "Claude/claude_desktop_config.json"},
	{"Cursor", "HOME", ".cursor/mcp.json"},
	{"VS Code", "HOME", ".config/Code/User/mcp.json"},
	{"VS Code", "HOME", "Library/Application Support/Code/User/mcp.json"},
	{"VS Code", "APPDATA", "Code/User/mcp.json"},
	{"this directory", "", ".mcp.json"},
	{"Cursor, in this directory", "", ".cursor/mcp.json"},
	{"VS Code, in this directory", "", ".vscode/mcp.json"},
}

// FindForeign returns the configurations of other programs that there are, in
// the user's directories and in the working directory dir.
func FindForeign(env Env, dir string) []Foreign {
	var found []Foreign
	for _, place := range foreignPlaces {
		base := dir
		switch place.base {
		case "HOME":
			base = home(env)
		case "APPDATA":
			base, _ = env("APPDATA")
		}
		if base == "" {
			continue
		}
		path := filepath.Join(base, filepath.FromSlash(place.path))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			found = append(found, Foreign{place.program, path})
		}
	}
	return found
}

// home is the user's directory, on Windows too.
func home(env Env) string {
	if dir, ok := env("HOME"); ok {
		return dir
	}
	dir, _ := env("USERPROFILE")
	return dir
}
