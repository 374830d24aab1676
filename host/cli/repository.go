package cli

import (
	"os"
	"path/filepath"
)

// repositoryEntries are what version control systems create in the directory that they
// manage.
var repositoryEntries = []string{".git", ".hg", ".svn", ".jj", ".bzr", "CVS", ".fslckout", "_FOSSIL_", ".pijul", "_darcs"}

// repositoryOf returns the directory under version control that a directory is in, or
// nothing.
func repositoryOf(dir string) string {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, name := range repositoryEntries {
			if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
				return at
			}
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// repositoryOfFile returns the directory under version control in which a file is written, or
// nothing. The file and its directory need not exist. Symbolic links are followed.
func repositoryOfFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	dir := filepath.Dir(path)
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return repositoryOf(dir), nil
}
