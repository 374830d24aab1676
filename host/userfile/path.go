package userfile

import (
	"path/filepath"
	"slices"
	"strings"
)

// IsBelow reports whether a path is dir or below it, by their texts.
func IsBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// RealPath returns a path without symbolic links. A path that does not exist is only cleaned.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// HasParent reports whether a path has the element "..", so that what it means depends on
// symbolic links.
func HasParent(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}
