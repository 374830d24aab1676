package commandfiles

import (
	"io/fs"
	"os"
	"syscall"
)

// unchanged reports whether a file is the same as before, by its identity, size and times.
func unchanged(before, now fs.FileInfo) bool {
	a, ok := before.Sys().(*syscall.Stat_t)
	b, also := now.Sys().(*syscall.Stat_t)
	return ok && also && os.SameFile(before, now) && a.Size == b.Size && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}
