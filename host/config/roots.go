package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// MaxRoots limits the directories that one server gets as roots.
const MaxRoots = 100

// readRoots parses "roots": whether the server may ask for the roots of a client, or the directories that
// it gets as well.
func (s *source) readRoots(e *entry, v value) {
	switch v.kind {
	case kindBoolean:
		e.settings.Questions.Roots = s.permission(v)
	case kindString:
		e.roots = []field{s.string(v)}
	case kindArray:
		if e.roots = s.fields(v); len(e.roots) > MaxRoots {
			s.addError(v, "found %d directories, want at most %d", len(e.roots), MaxRoots)
		}
	default:
		s.addError(v, "found %s, want true, false, or an array of directories", v.kind)
	}
}

// roots returns the directories of an entry as absolute paths, each once. A relative one starts where the
// working directory of a program does. References can only be those to directories: a path leaves the machine
// if the server is at a URL.
func (r *resolver) roots(e *entry) (paths []string) {
	for _, f := range e.roots {
		path := r.directory(f)
		switch {
		case f.text == "":
			r.addError(f.at, "found an empty text, want a directory")
		case path == "": // the error is known
		case strings.Contains(path, "://"):
			r.addError(f.at, "found %q, want the path of a directory, such as ~/src", f.text)
		case r.checkLocal(f, path):
			if path = filepath.Clean(r.absolutePath(path)); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// directory returns the path in a field with its references to directories replaced.
func (r *resolver) directory(f field) string {
	f.home = true
	var path strings.Builder
	for literal, ref := range r.references(f) {
		path.WriteString(literal)
		if ref == "" {
			continue
		}
		place, parsed, _ := r.parseReference(ref, f)
		if parsed != (host.Reference{}) {
			r.addError(f.at, "found a variable, an input or a file, want a path; it may begin with ~/, ${userHome} or ${workspaceFolder}")
			return "."
		}
		path.WriteString(place)
	}
	return path.String()
}
