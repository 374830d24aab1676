package spawn

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// inherited lists the variables that a child gets from this process. A name that ends in "*"
// stands for all names with that prefix. All other variables must be set by the command, except
// those of network and launchers.
var inherited = map[string][]string{
	"unix": {
		"PATH", "HOME", "LANG", "LANGUAGE", "LC_*", "TMPDIR", "USER", "LOGNAME",
		"SHELL", "TERM", "TZ", "XDG_*",
	},
	"windows": {
		"APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMSPEC",
		"HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS",
		"PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES",
		"PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP",
		"TMP", "TZ", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
	},
}

// network lists the variables without which programs reach no server from within many companies.
// A child gets them, too.
var network = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
}

// The indexes of packages, by the programs that read these variables.
var (
	npmIndex = []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"}
	uvIndex  = []string{"UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"}
	pipIndex = []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"}
)

// launchers are programs that run others, by the names of their files, with the variables that
// they get in addition.
var launchers = map[string][]string{
	"npx": npmIndex, "uvx": uvIndex, "pipx": pipIndex,
	"docker": {"DOCKER_HOST"}, "podman": {"DOCKER_HOST"},
}

// withURL lists the variables of network and launchers whose value is a URL, in which a password
// may be.
var withURL = slices.Concat(network[:3], network[4:7], npmIndex, uvIndex, pipIndex, []string{"DOCKER_HOST"})

// environ returns the environment of a child that runs a program: that of this process, whole or
// reduced to what the program inherits, and then the given variables, which override it.
func environ(program string, given map[string]string, whole bool) ([]string, error) {
	env := os.Environ()
	if !whole {
		env = slices.DeleteFunc(env, func(pair string) bool {
			name, value, _ := strings.Cut(pair, "=")
			return !isInherited(runtime.GOOS, program, name, value)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("environment variable %q: want a name that is not empty, without %q and NUL", name, "=")
		}
		env = append(env, name+"="+given[name])
	}
	return env, nil
}

// Withheld returns the sorted names of the variables of this process that the child does not get,
// without those of the shell itself.
func (c Command) Withheld() (names []string) {
	if c.InheritEnv {
		return nil
	}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		_, given := c.Env[name]
		if !given && name != "" && !slices.Contains(ofShell, name) && !isInherited(runtime.GOOS, c.Path, name, value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ofShell lists variables that a shell sets for itself.
var ofShell = []string{"_", "OLDPWD", "PWD", "SHLVL"}

// isInherited reports whether a program gets a variable of this process.
func isInherited(goos, program, name, value string) bool {
	base, same := inherited["unix"], func(a, b string) bool { return a == b }
	if goos == "windows" {
		base, same = inherited["windows"], strings.EqualFold
	}
	is := func(listed string) bool {
		if prefix, ok := strings.CutSuffix(listed, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return same(name, listed)
	}
	switch {
	case slices.ContainsFunc(base, is):
		return true
	case slices.ContainsFunc(network, is), slices.ContainsFunc(launchers[programName(goos, program)], is):
		return !slices.ContainsFunc(withURL, is) || !hasCredentials(value)
	}
	return false
}

// programName returns the name of a program without its directory and, on Windows, its suffix.
func programName(goos, path string) string {
	name := filepath.Base(path)
	if goos == "windows" {
		name = strings.ToLower(name)
		for _, suffix := range []string{".exe", ".cmd", ".bat"} {
			name = strings.TrimSuffix(name, suffix)
		}
	}
	return name
}

// hasCredentials reports whether one of some URLs has a user. Many indexes take a token in place
// of the user's name, so no password is needed. The user of ssh:// alone is no secret.
func hasCredentials(urls string) bool {
	return slices.ContainsFunc(strings.Fields(urls), func(text string) bool {
		before, _, found := strings.Cut(text, "@")
		user, isSSH := strings.CutPrefix(before, "ssh://")
		return found && !(isSSH && !strings.Contains(user, ":"))
	})
}
