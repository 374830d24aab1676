package policy

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/fondaco/fondaco/host/userfile"
)

// readings returns the paths without symbolic links that a path in the configuration may lead to.
// What leads to another machine is not looked at, and left out.
func (s *subject) readings(path string) (all []string) {
	for _, reading := range s.paths(path) {
		if !s.isLocal(reading) {
			continue
		}
		if real := userfile.RealPath(reading); !slices.Contains(all, real) {
			all = append(all, real)
		}
	}
	return all
}

// paths is readings, with symbolic links.
func (s *subject) paths(path string) []string {
	dir, err := s.absoluteDir()
	if err != nil && !filepath.IsAbs(path) {
		return nil
	}
	return userfile.Readings(path, dir, s.isLocal)
}

// absoluteDir returns the working directory. Its ".." is kept, because what it means depends on
// links, which can be replaced between the decision and the start.
func (s *subject) absoluteDir() (string, error) {
	if filepath.IsAbs(s.dir) {
		return s.dir, nil
	}
	here, err := os.Getwd()
	return here + string(filepath.Separator) + s.dir, err
}

// isThere reports whether the system finds a file at a path. It finds none behind "x/.." if x does
// not exist, whatever the readings of the path are.
func (s *subject) isThere(path string) bool {
	if !filepath.IsAbs(path) {
		dir, err := s.absoluteDir()
		if err != nil {
			return false
		}
		path = dir + string(filepath.Separator) + path
	}
	if runtime.GOOS == "windows" { // which removes ".." before it follows links
		path = filepath.Clean(path)
	}
	_, err := os.Stat(path)
	return err == nil
}

func (s *subject) isLocal(path string) bool { return userfile.CheckLocal(path, s.project) == nil }
