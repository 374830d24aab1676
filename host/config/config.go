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
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
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
	// Ask asks the user for an input, once after each Load. It is called when a server that
	// refers to the input is resolved, if no environment variable holds it, and may be called
	// by several goroutines for different inputs. Default: such an input is an error of Load.
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

func (o *Options) ask() func(Input) (string, error) {
	if o == nil {
		return nil
	}
	return o.Ask
}

// maxSize limits a file in bytes.
const maxSize = 4 << 20

// Load reads the file at path, as TOML if its name ends in .toml, else as JSON with
// comments. References of the upstreams are not expanded before Upstream.Resolve is called,
// except variables in the command of a program, which decide what is approved. The error,
// if any, joins a *Diagnostic for each error that concerns the whole file or, with
// Options.Strict, for each error. A file that others own or can write to, and one in a
// directory in which others can replace it, is refused with a *userfile.AccessError,
// because it chooses the programs that the host runs.
func Load(path string, o *Options) (*Config, error) {
	absolute, err := filepath.Abs(path)
	if err == nil {
		err = userfile.CheckLocal(absolute, workspaceOf(absolute, o.env())) // it may be a symbolic link
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	f, err := open(path, "")
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	r := f.resolve(o)
	f.checkHostSettings(o.env())
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

// read reads a file that nobody else can change.
func read(path string) ([]byte, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	return userfile.ReadFile(path, maxSize)
}

// readText reads a text that is not a configuration, without a byte order mark.
func readText(path string) ([]byte, error) {
	content, err := read(path)
	if err != nil {
		return nil, err
	}
	if content, err = userfile.Text(content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}

// readUnchecked reads a file that others may be able to change, as the group of the user
// often can in the files of other programs. Nothing of it is run.
func readUnchecked(path string) ([]byte, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = fmt.Errorf("%s: more than %d bytes", path, maxSize)
	}
	return content, err
}

// checkFile returns an error unless there is a file at a path. To open a pipe would wait
// for its writer.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if missing, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "open", Path: path, Err: missing.Err}
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: is a %s; want a file", path, nounOf(info.Mode()))
	}
	return err
}

func nounOf(m os.FileMode) string {
	if m.IsDir() {
		return "directory"
	}
	return "device"
}
