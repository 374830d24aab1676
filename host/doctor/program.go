package doctor

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
)

// checkProgram finds the program of the server, its working directory, and the interpreter of a script. It
// starts nothing.
func checkProgram(_ context.Context, e *examination) {
	t := e.commandTarget()
	if t == nil {
		e.skip("the server is no program of this machine")
		return
	}
	if t.Dir != "" {
		info, err := os.Stat(t.Dir)
		switch {
		case err != nil:
			e.fail(ProgramDirectory, "mkdir -p "+host.ShellQuote(t.Dir), "the working directory cannot be used: %v", err)
			return
		case !info.IsDir():
			e.fail(ProgramDirectory, e.opts.command("config", "check"), "the working directory %s is a file; want a directory", t.Dir)
			return
		}
	}
	path, err := e.lookUp(t.Path)
	if err != nil {
		e.programMissing(t.Path, path, err)
		return
	}
	if interpreter := interpreterOf(path); interpreter != "" {
		if _, err := e.lookUp(interpreter); err != nil {
			e.fail(ProgramInterpreter, installCommand(interpreter), "the first line of %s names the interpreter %s, which is not there", path, interpreter)
			return
		}
	}
	e.program = path
	e.pass("%s is %s", filepath.Base(t.Path), path)
}

// programMissing reports why a program cannot be found.
func (e *examination) programMissing(name, path string, err error) {
	switch {
	case path != "" && errors.Is(err, fs.ErrPermission):
		e.fail(ProgramMode, "chmod +x "+host.ShellQuote(path), "%s is not executable", path)
	case filepath.Base(name) != name:
		e.fail(ProgramMissing, e.showConfigCommand(), "there is no program %s", name)
	default:
		if meant := host.Suggest(name, e.programs()); meant != "" {
			e.fail(ProgramMissing, e.setProgram(meant), "the program %s is in no directory of the PATH (did you mean %s?)", name, meant)
			return
		}
		e.fail(ProgramMissing, installCommand(name), "the program %s is in no directory of the PATH; install it, or write its absolute path", name)
	}
}

// setProgram is the command that gives the server another program, with the same arguments.
func (e *examination) setProgram(name string) string {
	words := append([]string{name}, e.commandWords()[1:]...)
	if !e.configured() {
		return e.opts.command(append([]string{"doctor", "--"}, words...)...)
	}
	return e.opts.command(append([]string{"set", e.upstream.Key, "--"}, words...)...)
}

// showConfigCommand is a command that shows how the server is configured.
func (e *examination) showConfigCommand() string {
	if !e.configured() {
		return ""
	}
	return e.opts.command("config", "show")
}

// lookUp finds a program as a start of the server does: in the PATH of the server, or relative to its
// working directory. With an error it returns the path of a file that cannot be run, if there is one.
func (e *examination) lookUp(name string) (path string, err error) {
	t := e.commandTarget()
	if filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = filepath.Join(t.Dir, name)
		}
		found, err := exec.LookPath(name)
		if err != nil {
			return existing(name), err
		}
		return found, nil
	}
	notExecutable := ""
	for _, dir := range e.searched() {
		found, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return found, nil
		}
		if at := existing(filepath.Join(dir, name)); at != "" && notExecutable == "" {
			notExecutable = at
		}
	}
	if notExecutable != "" {
		return notExecutable, fs.ErrPermission
	}
	return "", exec.ErrNotFound
}

// searched returns the directories of the PATH of the server.
func (e *examination) searched() []string {
	search, ok := e.commandTarget().Env["PATH"]
	if !ok {
		search, _ = e.opts.env("PATH")
	}
	return slices.DeleteFunc(filepath.SplitList(search), func(dir string) bool {
		return !filepath.IsAbs(dir) || e.checkLocal(dir) != nil
	})
}

// launchers are the programs that start most servers.
var launchers = []string{"npx", "uvx", "node", "python3", "python", "docker", "bunx", "pipx", "deno", "uv", "podman", "go"}

// programs returns the names that may have been meant by a program: launchers that are there, or else all
// programs of the PATH.
func (e *examination) programs() (names []string) {
	there := make(map[string]bool)
	for _, dir := range e.searched() {
		if len(there) == maxPrograms { // Readdirnames(0) reads all
			break
		}
		files, err := os.Open(dir)
		if err != nil {
			continue
		}
		found, _ := files.Readdirnames(maxPrograms - len(there))
		_ = files.Close()
		for _, name := range found {
			there[name] = true
		}
	}
	names = slices.DeleteFunc(slices.Clone(launchers), func(name string) bool { return !there[name] })
	if host.Suggest(filepath.Base(e.commandTarget().Path), names) != "" {
		return names
	}
	return slices.Sorted(maps.Keys(there))
}

// maxPrograms limits the names of programs that are compared with one that is not there.
const maxPrograms = 10_000

// checkLocal returns an error for a path on another machine that a project names. Nothing is looked at there
// before the approval.
func (e *examination) checkLocal(path string) error {
	return userfile.CheckLocal(path, e.upstream.Origin.Project)
}

// existing returns a path if a file is there, else nothing.
func existing(path string) string {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path
	}
	return ""
}

// interpreterOf returns the program that the first line of a script names, empty if there is none.
func interpreterOf(path string) string {
	if runtime.GOOS == "windows" || existing(path) == "" { // nobody may ever write to a pipe
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	command, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(command)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return word
		}
	}
	return words[0]
}

// installCommand returns the command that installs a program, empty if it is not one that many servers
// use.
func installCommand(program string) string {
	switch filepath.Base(program) {
	case "npx", "node", "npm":
		return installCommands[runtime.GOOS].node
	case "uvx", "uv":
		return installCommands[runtime.GOOS].uv
	case "docker":
		return installCommands[runtime.GOOS].docker
	}
	return ""
}

// installCommands are those of the package manager that most machines of a system have.
var installCommands = map[string]struct{ node, uv, docker string }{
	"darwin":  {"brew install node", "brew install uv", "brew install --cask docker"},
	"windows": {"winget install OpenJS.NodeJS.LTS", "winget install astral-sh.uv", "winget install Docker.DockerDesktop"},
	"linux":   {"sudo apt-get install nodejs npm", "pipx install uv", "sudo apt-get install docker.io"},
}
