// Package spawn runs child processes: it starts them without a shell and with a
// small environment, and it ends them whole, with everything that they started.
//
// It is the only package that imports os/exec.
package spawn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Command is a program with its arguments and environment. No shell is used and nothing is
// expanded: the program gets every argument unchanged.
type Command struct {
	// Path is the program: a name to look up in PATH, or a path, which is
	// relative to Dir. A program that PATH finds relative to the current
	// directory is refused (exec.ErrDot).
	Path string

	// Args are the arguments, without the program itself.
	Args []string

	// Env is added to the environment and overrides it. If it sets PATH, Path is looked up
	// there.
	Env map[string]string

	// InheritEnv passes the whole environment of this process to the child. Otherwise the
	// child gets only the variables that most programs need (PATH, HOME, locale, temporary
	// and XDG directories, proxies and certificates), and no secrets: a URL of a proxy with a
	// user is not among them. npx, uvx and pipx also get those of their package index, and
	// docker and podman DOCKER_HOST.
	InheritEnv bool

	// Dir is the working directory; empty means that of this process.
	Dir string

	// File, if not nil, is the opened program. On Linux it runs instead of the file that
	// Path finds, unless it is a script, which its interpreter opens by its path. It must
	// stay open until Start has returned.
	File *os.File
}

// prepare checks c and turns it into an exec.Cmd that has no files yet.
func (c Command) prepare() (*exec.Cmd, error) {
	if c.Path == "" {
		return nil, errors.New("the command has no path")
	}
	if err := c.checkDir(); err != nil {
		return nil, err
	}
	env, err := environ(c.Path, c.Env, c.InheritEnv)
	if err != nil {
		return nil, err
	}
	path, err := c.lookUp()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, c.Args...)
	if cmd.Err != nil {
		return nil, c.nameLocal(cmd.Err)
	}
	if runtime.GOOS == "windows" {
		if err := checkBatch(cmd.Path, c.Args); err != nil {
			return nil, err
		}
	}
	cmd.Args[0] = c.Path
	if opened := openedProgram(c.File); opened != "" {
		cmd.Path = opened
	}
	cmd.Env = env
	cmd.Dir = c.Dir
	return cmd, nil
}

// checkDir reports a missing working directory, because the error of a failed start does not
// distinguish it from a missing program.
func (c Command) checkDir() error {
	if c.Dir == "" {
		return nil
	}
	info, err := os.Stat(c.Dir)
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("working directory: %s is not a directory", c.Dir)
	}
	return nil
}

// nameLocal adds to the error of a failed search the path of a program of that name in the
// working directory of this process, which is not searched. With Dir, a relative path has another
// meaning.
func (c Command) nameLocal(err error) error {
	if c.Dir != "" || !errors.Is(err, exec.ErrNotFound) || filepath.Base(c.Path) != c.Path {
		return err
	}
	local := "." + string(filepath.Separator) + c.Path
	if _, missing := exec.LookPath(local); missing != nil {
		return err
	}
	return fmt.Errorf("%w; for the program in the working directory write %s", err, local)
}

// lookUp finds a name without a directory in the PATH that Env sets. In all other cases it
// leaves the search to exec.Command.
func (c Command) lookUp() (string, error) {
	path, ok := c.ownPath()
	if !ok || filepath.Base(c.Path) != c.Path {
		return c.Path, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, c.Path)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%q: executable file not found in the given PATH %q", c.Path, path)
}

// ownPath returns the PATH that Env sets. On Windows the case of the name does not matter.
func (c Command) ownPath() (path string, ok bool) {
	for name, value := range c.Env {
		if name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			return value, true
		}
	}
	return "", false
}
