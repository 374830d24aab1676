//go:build unix

package control

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether the current user owns a file.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
