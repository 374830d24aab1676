package approval

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// program describes the program of a target, whose references to variables are expanded.
func (s *Store) program(u *host.Upstream, t *mcpclient.CommandTarget, key []byte) (*Program, *startedFiles, error) {
	source := sourceOf(u, t)
	p := &Program{Command: source.Command.Written, Dir: t.Dir, EnvFile: source.EnvFile, Variables: s.variables(source.Env, key)}
	for _, arg := range source.Args {
		p.Args = append(p.Args, arg.Written)
	}
	if !filepath.IsAbs(t.Dir) {
		return nil, nil, fmt.Errorf("working directory %q: want an absolute path", t.Dir)
	}
	f := &codeFinder{
		dir: t.Dir, bases: []string{t.Dir}, path: searchPath(t.Env), env: t.Env, files: newStartedFiles(), commands: make(map[foundCommand]bool), code: make(map[string][][]string), read: make(map[string]bool),
		home: s.home, project: u.Origin.Project,
		checkLocal: func(path string) error { return s.checkLocal(path, u.Origin.Project) },
	}
	if !f.mayLookAt(t.Dir) {
		return nil, nil, fmt.Errorf("working directory: %w", f.err)
	}
	real, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("working directory: %w", err)
	}
	if real != filepath.Clean(t.Dir) {
		p.DirTarget = real
	}
	if hasParent(t.Dir) && p.DirTarget != "" {
		f.bases = append(f.bases, real)
	}
	if u.Settings.Dev {
		f.devDir, err = devDir(u, real)
		if err != nil {
			f.notCovered = append(f.notCovered, fmt.Sprintf("\"dev\" has no effect: %v", err))
		}
	}
	if err := f.command(t.Path, t.Args); err != nil {
		if !source.Command.Literal() { // the value may be a secret
			err = errors.New("the program that it names cannot be found")
		}
		return nil, nil, fmt.Errorf("command %q: %w", p.Command, err)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		f.textOfVariable(name, t.Env[name])
	}
	for _, file := range textFiles(u, source) {
		f.add(RoleText, file)
	}
	if f.devDir != "" && !slices.ContainsFunc(f.files.list, func(file File) bool { return file.SHA256 == "" }) {
		f.notCovered = append(f.notCovered, fmt.Sprintf("\"dev\" has no effect: it is for scripts that an interpreter gets as arguments, and none of them is below %s", f.devDir))
	}
	p.Files, p.NotCovered, p.Concerns = f.files.list, f.notCovered, s.outsideFiles(u, source)
	p.Data = slices.DeleteFunc(f.data, f.files.has)
	return p, f.files, f.err
}

// textFiles returns the files whose content a project's configuration puts into the arguments
// and variables of a program, where that decides what it does: who can change the project could
// change them later. Secrets of the user that are outside of the project may change in variables.
func textFiles(u *host.Upstream, source *host.Source) (files []string) {
	if u.Origin.Project == "" {
		return nil
	}
	add := func(text host.Text, anywhere bool) {
		for _, ref := range text.References {
			if ref.Kind == host.FileReference && (anywhere || isBelow(ref.Name, u.Origin.Project)) && !slices.Contains(files, ref.Name) {
				files = append(files, ref.Name)
			}
		}
	}
	for _, arg := range source.Args {
		add(arg, true)
	}
	for _, name := range slices.Sorted(maps.Keys(source.Env)) {
		add(source.Env[name], decidesCode(name) || loadsFiles(name))
	}
	return files
}

// outsideFiles names the files outside of a project whose content its configuration gives to a
// program, also behind symbolic links.
func (s *Store) outsideFiles(u *host.Upstream, source *host.Source) (concerns []string) {
	add := func(text host.Text, place string) {
		for _, ref := range text.References {
			concern := sprintEscaped("the file %s is outside of the project, and the program gets its content as %s", ref.Name, place)
			if ref.Kind == host.FileReference && s.isOutside(u, ref.Name) && !slices.Contains(concerns, concern) {
				concerns = append(concerns, concern)
			}
		}
	}
	for _, arg := range source.Args {
		add(arg, "an argument")
	}
	for _, name := range slices.Sorted(maps.Keys(source.Env)) {
		add(source.Env[name], "the variable "+name)
	}
	return concerns
}

// sourceOf returns what the file says about a program, or what the target says if there is
// no file.
func sourceOf(u *host.Upstream, t *mcpclient.CommandTarget) *host.Source {
	if u.Source != nil {
		return u.Source
	}
	source := &host.Source{Command: host.Text{Written: t.Path}, Env: make(map[string]host.Text)}
	for _, arg := range t.Args {
		source.Args = append(source.Args, host.Text{Written: arg})
	}
	for name, value := range t.Env {
		source.Env[name] = host.Text{Written: value}
	}
	return source
}

// devDir returns the directory whose files need no approval. It must belong to the user
// alone, and the file that says so to no project.
func devDir(u *host.Upstream, dir string) (string, error) {
	if u.Origin.Project != "" {
		return "", errors.New("the configuration is that of a project")
	}
	if err := userfile.Check(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// searchPath returns the PATH of a child: its own, or that of this process.
func searchPath(env map[string]string) string {
	for name, value := range env {
		if name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			return value
		}
	}
	return os.Getenv("PATH")
}
