// Package config reads and changes the files that list the MCP servers of the host. It
// accepts the formats of many clients:
//
//	{"mcpServers": {
//	  "files": {"command": "mcp-files", "args": ["--root", "."], "env": {"KEY": "${KEY}"}},
//	  "issues": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"},
//	             "fondaco": {"deny": ["delete_*"], "confirm": "destructive"}}
//	}}
//
// An error in one server disables only that server. Unknown members are reported and
// ignored.
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
	// Path is the path of the file.
	Path string
	// Upstreams are the servers to run, in the order of the file.
	Upstreams []host.Upstream
	// Disabled are the names of servers that are switched off, and Broken of those with
	// errors.
	Disabled, Broken []string
	// Warnings are about parts of the file that have no effect or an unexpected one.
	Warnings []*Diagnostic
	// Errors are the reasons why servers are not run. All are found at once.
	Errors []*Diagnostic
}

// Env looks up an environment variable, like os.LookupEnv.
type Env func(name string) (string, bool)

// Options of Load. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Env looks up variables. Default: os.LookupEnv.
	Env Env
	// Ask asks the user for an input, once in each Load. It is called for inputs that
	// servers refer to and that no environment variable holds. Default: such an input is
	// an error.
	Ask func(Input) (string, error)
	// Strict makes Load fail if there is any error.
	Strict bool
}

func (o *Options) env() Env {
	if o == nil || o.Env == nil {
		return os.LookupEnv
	}
	return o.Env
}

// maxSize limits a file in bytes.
const maxSize = 4 << 20

// Load reads the file at path, as TOML if its name ends in .toml, else as JSON with
// comments. The error, if any, joins a *Diagnostic for each error that concerns the whole
// file or, with Options.Strict, for each error. A file that every user of the machine may
// write is refused, because it chooses the programs that the host runs.
func Load(path string, o *Options) (*Config, error) {
	f, err := open(path, "")
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	r := f.resolve(o)
	c := &Config{Path: path, Upstreams: r.upstreams, Disabled: r.disabled, Broken: r.broken, Warnings: f.warnings, Errors: f.errors}
	if f.root == nil || o != nil && o.Strict {
		if err := Join(f.errors); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// open parses a file, with its errors. The project is that of the type file.
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
		return nil, fmt.Errorf("%s: mode %o: every user may write it; run chmod o-w on it first", path, info.Mode().Perm())
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
