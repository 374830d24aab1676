package userfile

import (
	"path/filepath"
	"runtime"
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

// ResolveLinks returns a path without symbolic links, as far as it exists. What does not exist yet keeps its names, so
// that a directory that is created there later has the same result, and a symbolic link has another one.
func ResolveLinks(path string) string {
	path = filepath.Clean(path)
	for at, rest := path, ""; ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(at)
		if parent == at {
			return path
		}
		at, rest = parent, filepath.Join(filepath.Base(at), rest)
	}
}

// HasParent reports whether a path has the element "..", so that what it means depends on
// symbolic links.
func HasParent(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}

// Readings returns the paths that a path can lead to in a directory, which must be absolute. They
// are absolute and without "..", may have symbolic links, and each is there once. The first is that
// of the text; it is the only one if neither the path nor the directory has "..". Programs read
// ".." in three ways: many take it from the text, some of these have their real working directory
// in front, and the system, but not Windows, follows a symbolic link before "..". look reports
// whether a path may be looked at; what is behind one that may not is left out.
func Readings(path, dir string, look func(path string) bool) []string {
	whole := path
	if !filepath.IsAbs(path) {
		whole = dir + string(filepath.Separator) + path
	}
	all := []string{filepath.Clean(whole)}
	if !HasParent(whole) {
		return all
	}
	add := func(reading string) {
		if !slices.Contains(all, reading) {
			all = append(all, reading)
		}
	}
	if !filepath.IsAbs(path) && look(dir) {
		add(filepath.Join(RealPath(dir), path))
	}
	if at, ok := afterLinks(whole, look); ok {
		add(at)
	}
	return all
}

// afterLinks returns an absolute path without "..", of which each has followed the symbolic links
// before it. It reports false if one of these may not be looked at, and on Windows.
func afterLinks(path string, look func(path string) bool) (string, bool) {
	if runtime.GOOS == "windows" {
		return "", false
	}
	at := "/"
	for _, name := range strings.Split(path, "/") {
		if name != ".." {
			at = filepath.Join(at, name)
			continue
		}
		if !look(at) {
			return "", false
		}
		at = filepath.Dir(RealPath(at))
	}
	return at, true
}
