package policy

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// readings returns the paths without symbolic links that a path in the configuration may lead to.
// For link/../file the system follows the link before "..", and a program may remove link/.. from
// the text. It may also put its real working directory in front. What leads to another machine is
// not looked at, and left out.
func (s *subject) readings(path string) (all []string) {
	for _, spelling := range s.spellings(path) {
		if !s.isLocal(spelling) {
			continue
		}
		if real := resolved(spelling); !slices.Contains(all, real) {
			all = append(all, real)
		}
	}
	return all
}

// spellings returns the absolute paths that a path may stand for, first the one that the system
// resolves.
func (s *subject) spellings(path string) []string {
	if filepath.IsAbs(path) {
		return []string{forSystem(path), filepath.Clean(path)}
	}
	dir := s.dir
	if !filepath.IsAbs(dir) {
		here, err := os.Getwd()
		if err != nil {
			return nil
		}
		dir = here + string(filepath.Separator) + dir
	}
	all := []string{forSystem(dir + string(filepath.Separator) + path), filepath.Join(dir, path)}
	if s.isLocal(dir) {
		all = append(all, filepath.Join(resolved(forSystem(dir)), path))
	}
	return all
}

func (s *subject) isLocal(path string) bool { return userfile.CheckLocal(path, s.project) == nil }

// forSystem returns a path as the system reads it: Windows alone removes ".." before it follows
// links.
func forSystem(path string) string {
	if runtime.GOOS == "windows" {
		return filepath.Clean(path)
	}
	return path
}

// resolved returns a path without symbolic links, or the path if it does not exist.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// hasParent reports whether a path has "..", so that what it means depends on links, which can
// be replaced between the decision and the start.
func hasParent(path string) bool {
	return slices.Contains(strings.FieldsFunc(path, func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) }), "..")
}
