package commandfiles

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// fileAccess looks at files for a codeFinder: only at those that checkLocal accepts, and only at
// so many. All that looks at a file by its path is a method of it.
type fileAccess struct {
	// checkLocal returns an error for a path on another machine that a project names.
	checkLocal func(path string) error
	lookups    int   // files that were searched for
	err        error // the first error of a file that runs
}

// maxLookups limits the files that are searched for, so that a project cannot make the host
// search for hours.
const maxLookups = 100_000

// maxSearched is the size in bytes of a text, such as a file of recipes or of settings, up to
// which it is searched for the files that it names.
const maxSearched = 1 << 20

// mayLookAt reports whether another file may be searched for at a path. Whatever looks at a
// file calls it before: who wrote the command is not trusted yet.
func (a *fileAccess) mayLookAt(path string) bool {
	a.lookups++
	if a.lookups > maxLookups && a.err == nil {
		a.err = fmt.Errorf("its arguments and variables can name more than %d files", maxLookups)
	}
	if a.err == nil {
		a.err = a.checkLocal(path)
	}
	return a.err == nil
}

// executable returns the file that is executed for an absolute path, on Windows perhaps with
// another suffix.
func (a *fileAccess) executable(at string) (string, error) {
	if !a.mayLookAt(at) {
		return "", a.err
	}
	return exec.LookPath(at)
}

func (a *fileAccess) isRegular(path string) bool {
	if !a.mayLookAt(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (a *fileAccess) isDir(path string) bool {
	if !a.mayLookAt(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// start returns the first bytes of a regular file, none of any other.
func (a *fileAccess) start(path string, n int64) []byte {
	if !a.isRegular(path) {
		return nil
	}
	return firstBytes(path, n)
}

// names returns the names in a directory, as many as files can be looked at.
func (a *fileAccess) names(dir string) []string {
	if !a.isDir(dir) {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxLookups)
	slices.Sort(names)
	return names
}

// directoriesIn returns the names of the directories in another one in which workspaces may be.
func (a *fileAccess) directoriesIn(dir string) (names []string) {
	if !a.mayLookAt(dir) {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		name := entry.Name()
		isDir := entry.IsDir() || entry.Type()&os.ModeSymlink != 0 && a.isDir(filepath.Join(dir, name))
		if isDir && name != "node_modules" && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

// wordsOfFile returns the words of a small text file, without comments, separated by spaces.
func (a *fileAccess) wordsOfFile(path string) string {
	if !a.isRegular(path) {
		return ""
	}
	var words []string
	for _, line := range strings.Split(string(a.start(path, 64<<10)), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}

// wordsOfFileAbove is wordsOfFile for the first file of a name in a directory or above it.
func (a *fileAccess) wordsOfFileAbove(dir, name string) string {
	for {
		if words := a.wordsOfFile(filepath.Join(dir, name)); words != "" {
			return words
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}
