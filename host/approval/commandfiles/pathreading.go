package commandfiles

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// readings returns the absolute paths that a path can lead to in a directory. Node.js and Go take
// ".." from the text of a path, and their working directory is without symbolic links; the system
// follows a symbolic link before "..".
func (a *fileAccess) readings(path, base string) []string {
	all := []string{absolute(path, base)}
	if runtime.GOOS == "windows" || !userfile.HasParent(path) {
		return all
	}
	if !a.mayLookAt(base) {
		return all
	}
	for _, at := range []string{absolute(path, userfile.RealPath(base)), a.afterLinks(path, base)} {
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// afterLinks returns the absolute path of a path whose symbolic links are followed before "..".
func (a *fileAccess) afterLinks(path, base string) string {
	at := base
	if filepath.IsAbs(path) {
		at = "/"
	}
	for _, name := range strings.Split(path, "/") {
		switch {
		case name != "..":
			at = filepath.Join(at, name)
		case a.mayLookAt(at):
			at = filepath.Dir(userfile.RealPath(at))
		}
	}
	return at
}

// asSystemReads returns arguments with the paths that the system reads in another way than their
// text says. It returns nil if there are none.
func (c *codeFinder) asSystemReads(args []string) []string {
	read := slices.Clone(args)
	for i, arg := range args {
		flag, path, isFlag := strings.Cut(arg, "=")
		if !isFlag {
			flag, path = "", arg
		}
		if userfile.HasParent(path) {
			if all := c.readings(path, c.dir); len(all) > 1 {
				read[i] = strings.TrimPrefix(flag+"="+all[len(all)-1], "=")
			}
		}
	}
	if slices.Equal(read, args) {
		return nil
	}
	return read
}

// absolute returns a path that may be relative to a directory.
func absolute(path, base string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
