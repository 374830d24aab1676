package commandfiles

import (
	"cmp"
	"path/filepath"
	"runtime"
	"strings"
)

// environmentRunners are programs that run others in a virtual environment of Python: in .venv
// of the project, or in one that the user's settings choose.
var environmentRunners = map[string]bool{"uv": true, "poetry": true, "pipenv": true, "pdm": true, "hatch": true, "conda": true, "mamba": true, "micromamba": true}

// virtualEnvironments adds what decides which interpreter runs in the virtual environments that
// a program may use, and looks for further programs there first.
func (c *codeFinder) virtualEnvironments(name string, args []string) {
	var places []string
	for _, dir := range c.searched() {
		places = append(places, filepath.Join(dir, ".venv"))
	}
	for _, variable := range []string{"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "CONDA_PREFIX"} {
		if value := c.env[variable]; value != "" {
			for _, dir := range c.searched() { // relative to the project, which may be above
				places = append(places, c.readings(value, dir)...)
			}
		}
	}
	for i, arg := range args {
		if prefix := argumentOf(arg, args, i, "-p", "--prefix"); prefix != "" {
			places = append(places, c.places(prefix)...)
		}
	}
	found := false
	for _, place := range places {
		found = c.virtualEnvironment(place) || found
	}
	if verbs, _ := operandsOf(name, args); !found && !(len(verbs) > 0 && verbs[0] == "tool") { // such as "uv tool run"
		c.note("the virtual environment that %s chooses or makes", name)
	}
}

// virtualEnvironment adds the interpreter of a virtual environment, and reports whether it is
// one. A file in its place names its directory.
func (c *codeFinder) virtualEnvironment(at string) bool {
	if c.isRegular(at) {
		c.add(RoleScript, at)
		if target := strings.TrimSpace(string(c.start(at, 4096))); filepath.IsAbs(target) && c.isDir(target) {
			at = target
		}
	}
	bin := filepath.Join(at, cmp.Or(map[string]string{"windows": "Scripts"}[runtime.GOOS], "bin"))
	if !c.isDir(bin) {
		return false
	}
	for _, name := range []string{"python", "python3"} {
		if file, err := c.executable(filepath.Join(bin, name)); err == nil {
			c.run(RoleInterpreter, file, 0)
		}
	}
	c.note("the packages in %s", at)
	if !strings.HasPrefix(c.path, bin+string(filepath.ListSeparator)) {
		c.path = bin + string(filepath.ListSeparator) + c.path
	}
	return true
}

// environmentOf adds the file beside a program of a virtual environment, or above it, with
// which Python decides where it finds its library.
func (c *codeFinder) environmentOf(program string) {
	for _, dir := range []string{filepath.Dir(program), filepath.Dir(filepath.Dir(program))} {
		if at := filepath.Join(dir, "pyvenv.cfg"); c.isRegular(at) {
			c.add(RoleScript, at)
		}
	}
}

// pythonPackage adds the files of a directory by which Python builds a package.
func (c *codeFinder) pythonPackage(dir string) {
	for _, name := range []string{"pyproject.toml", "setup.py", "setup.cfg"} {
		if at := filepath.Join(dir, name); c.isRegular(at) {
			c.add(RoleScript, at)
			c.note("the modules of the package in %s", dir)
		}
	}
}
