package approval

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// program describes the program of a target, whose references to variables are expanded.
func (d *describer) program(t *mcpclient.CommandTarget) (*Program, *commandfiles.Found, error) {
	u := d.upstream
	source := sourceOf(u, t)
	p := &Program{Command: source.Command.Written, Dir: t.Dir, EnvFile: source.EnvFile, Variables: d.variables(source.Env)}
	for _, arg := range source.Args {
		p.Args = append(p.Args, arg.Written)
	}
	if !filepath.IsAbs(t.Dir) {
		return nil, nil, fmt.Errorf("working directory %q: want an absolute path", t.Dir)
	}
	if err := d.checkLocal(t.Dir); err != nil {
		return nil, nil, fmt.Errorf("working directory: %w", err)
	}
	real, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("working directory: %w", err)
	}
	if real != filepath.Clean(t.Dir) {
		p.DirTarget = real
	}
	command := commandfiles.Command{
		Program: t.Path, Args: t.Args, Env: t.Env, Dir: t.Dir, DirTarget: p.DirTarget,
		Home: d.home, Project: u.Origin.Project, Texts: textFiles(u, source), CheckLocal: d.checkLocal,
	}
	if u.Settings.Dev {
		command.DevDir, err = devDir(u, real)
		if err != nil {
			p.NotCovered = append(p.NotCovered, fmt.Sprintf("\"dev\" has no effect: %v", err))
		}
	}
	found, err := commandfiles.Find(&command)
	if _, ok := errors.AsType[*commandfiles.ProgramError](err); ok {
		if !source.Command.Literal() { // the value may be a secret
			err = errors.New("the program that it names cannot be found")
		}
		err = fmt.Errorf("command %q: %w", p.Command, err)
	}
	if err != nil {
		return nil, nil, err
	}
	p.NotCovered = append(p.NotCovered, found.NotCovered...)
	if command.DevDir != "" && !slices.ContainsFunc(found.Files, func(file commandfiles.File) bool { return file.SHA256 == "" }) {
		p.NotCovered = append(p.NotCovered, fmt.Sprintf("\"dev\" has no effect: it is for scripts that an interpreter gets as arguments, and none of them is below %s", command.DevDir))
	}
	p.Files, p.Data, p.Concerns = found.Files, found.Data, append(d.outsideFiles(source), d.outsideRoots()...)
	return p, found, nil
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
			if ref.Kind == host.FileReference && (anywhere || userfile.IsBelow(ref.Name, u.Origin.Project)) && !slices.Contains(files, ref.Name) {
				files = append(files, ref.Name)
			}
		}
	}
	for _, arg := range source.Args {
		add(arg, true)
	}
	for _, name := range slices.Sorted(maps.Keys(source.Env)) {
		add(source.Env[name], commandfiles.DecidesCode(name) || commandfiles.LoadsFiles(name))
	}
	return files
}

// outsideFiles names the files outside of a project whose content its configuration gives to a
// program, also behind symbolic links.
func (d *describer) outsideFiles(source *host.Source) (concerns []string) {
	add := func(text host.Text, place string) {
		for _, ref := range text.References {
			concern := host.EscapeUnprintable(fmt.Sprintf("the file %s is outside of the project, and the program gets its content as %s", ref.Name, place))
			if ref.Kind == host.FileReference && d.isOutside(ref.Name) && !slices.Contains(concerns, concern) {
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
