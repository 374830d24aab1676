// Package config reads which MCP servers the host runs, in the common form that
// many clients have:
//
//	{"mcpServers": {
//	  "files": {"command": "mcp-files", "args": ["--root", "."], "env": {"KEY": "${env:KEY}"}, "cwd": "/srv"},
//	  "issues": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}
//	}}
//
// What it knows it reads strictly: exact names and types, no duplicates. Members
// that it does not know are reported and have no effect.
package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/fondaco/fondaco/host"
)

// Config is the content of one file.
type Config struct {
	// Path is where the file is.
	Path string
	// Upstreams are the servers to run, in the order of the file.
	Upstreams []host.Upstream
	// Notes tell the user what has no effect: members that are unknown, servers
	// that are disabled. Each is a sentence without its period.
	Notes []string
}

// Env looks up a variable of the environment, as os.LookupEnv does.
type Env func(name string) (string, bool)

// maxSize bounds the size of a file.
const maxSize = 1 << 20

// Load reads the file at path, with the variables of env for ${env:NAME}. The
// error, if any, joins one *Error for each fault in the content. A file that
// everybody on the machine may write is refused, because whoever does chooses
// the programs that the host runs.
func Load(path string, env Env) (*Config, error) {
	content, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	p := &parser{config: &Config{Path: path}, content: content, dir: dir, env: env}
	return p.parse()
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s: is a directory; want a file", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0:
		return nil, fmt.Errorf("%s: mode %o: everybody may write it; run chmod o-w on it first", path, info.Mode().Perm())
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = fmt.Errorf("%s: more than %d bytes", path, maxSize)
	}
	return content, err
}
