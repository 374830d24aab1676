package spawn

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// inherited lists the variables that a child gets from this process. A name that ends in "*"
// stands for all names with that prefix. All other variables, and so every secret, must be
// set by the command.
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

// environ returns the environment of a child: that of this process, whole or reduced to the
// inherited variables, and then the given variables, which override it.
func environ(given map[string]string, whole bool) ([]string, error) {
	env := os.Environ()
	if !whole {
		env = slices.DeleteFunc(env, func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			return !isInherited(runtime.GOOS, name)
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

func isInherited(goos, name string) bool {
	names := inherited["unix"]
	if goos == "windows" {
		names, name = inherited["windows"], strings.ToUpper(name)
	}
	return slices.ContainsFunc(names, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == pattern
	})
}
