package spawn

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// handedDown lists the variables that a child may have from us. A name that
// ends in "*" stands for all names with that beginning. Everything else, and so
// every secret, has to be named by the command.
var handedDown = map[string][]string{
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

// environ builds the environment of a child: ours, whole or reduced to the
// variables that are handed down, and then the given ones, which win.
func environ(given map[string]string, whole bool) ([]string, error) {
	env := os.Environ()
	if !whole {
		env = slices.DeleteFunc(env, func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			return !isHandedDown(runtime.GOOS, name)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("environment variable %q: a name is not empty and holds neither %q nor NUL", name, "=")
		}
		env = append(env, name+"="+given[name])
	}
	return env, nil
}

func isHandedDown(goos, name string) bool {
	names := handedDown["unix"]
	if goos == "windows" {
		names, name = handedDown["windows"], strings.ToUpper(name)
	}
	return slices.ContainsFunc(names, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == pattern
	})
}
