// Package config reads which MCP servers the host runs, and changes the files
// that say so. It takes the files of many programs as they are:
//
//	{"mcpServers": {
//	  "files": {"command": "mcp-files", "args": ["--root", "."], "env": {"KEY": "${KEY}"}},
//	  "issues": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"},
//	             "fondaco": {"deny": ["delete_*"], "confirm": "destructive"}}
//	}}
//
// A mistake in one server keeps that server alone from being run. Members that
// are unknown are reported and have no effect.
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
	// Disabled are the names of servers that are switched off, and Broken of those
	// that Faults are about.
	Disabled, Broken []string
	// Notes tell what the user may not expect, such as members without effect.
	Notes []*Finding
	// Faults are what keeps servers from being run. All are found at once.
	Faults []*Finding
}

// Env looks up a variable of the environment, as os.LookupEnv does.
type Env func(name string) (string, bool)

// Options of Load. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Env is where variables come from. Default: os.LookupEnv.
	Env Env
	// Ask asks the user for an input, once in each Load. It is called for inputs
	// that servers refer to and that no variable of the environment holds. Default:
	// nobody can be asked, which is a fault.
	Ask func(Input) (string, error)
	// Strict makes any fault an error of Load.
	Strict bool
}

func (o *Options) env() Env {
	if o == nil || o.Env == nil {
		return os.LookupEnv
	}
	return o.Env
}

// maxSize bounds a file.
const maxSize = 4 << 20

// Load reads the file at path; that of Codex is known by its ending, .toml. The
// error, if any, joins a *Finding for each fault that concerns the whole file, or
// each fault at all if Options say so. A file that everybody on the machine may
// write is refused, because whoever does chooses the programs that the host runs.
func Load(path string, o *Options) (*Config, error) {
	f, err := open(path, "")
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	r := f.resolve(o)
	c := &Config{Path: path, Upstreams: r.upstreams, Disabled: r.disabled, Broken: r.broken, Notes: f.notes, Faults: f.faults}
	if f.root == nil || o != nil && o.Strict {
		if err := Join(f.faults); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// open reads a file, with its faults. The project is that of file.
func open(path, project string) (*file, error) {
	content, err := read(path)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return parse(newSource(path, content), absolute, project), nil
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
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: is a %s; want a file", path, nounOf(info.Mode()))
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0:
		return nil, fmt.Errorf("%s: mode %o: everybody may write it; run chmod o-w on it first", path, info.Mode().Perm())
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = fmt.Errorf("%s: more than %d bytes", path, maxSize)
	}
	return content, err
}

func nounOf(m os.FileMode) string {
	if m.IsDir() {
		return "directory"
	}
	return "device"
}
