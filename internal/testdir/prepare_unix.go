//go:build unix

package testdir

import (
	"os"
	"syscall"
)

// temporary is the directory that every Unix has for temporary files of all users.
const temporary = "/tmp"

// maxTempDir is the length up to which another directory is kept, such as /var/tmp. The names of
// tests and of the files below it need the rest of a path.
const maxTempDir = 8

func prepare() error {
	syscall.Umask(0o022)
	if len(os.TempDir()) <= maxTempDir {
		return nil
	}
	return os.Setenv("TMPDIR", temporary)
}
