package commandfiles

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// readings returns the absolute paths that a path can lead to in a directory.
func (a *fileAccess) readings(path, base string) []string {
	return userfile.Readings(path, base, a.mayLookAt)
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
