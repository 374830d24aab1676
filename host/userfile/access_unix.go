//go:build unix

package userfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkInfo checks a file, or a directory above it.
func checkInfo(path string, info fs.FileInfo, above bool) error {
	if err := checkOwner(path, info); err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if mode&0o022 == 0 || above && stickyDir(info) {
		return nil
	}
	who, what := "others", "write to it"
	if mode&0o002 == 0 {
		who = "its group"
	}
	if above || info.IsDir() {
		what = "replace files in it"
	}
	return &AccessError{Path: path, Reason: fmt.Sprintf("mode %o: %s can %s", mode, who, what), writable: []string{path}}
}

// checkOwner refuses what belongs neither to the user nor to the administrator.
func checkOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return &AccessError{Path: path, Reason: "its owner is unknown"}
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return &AccessError{Path: path, Reason: fmt.Sprintf("it belongs to the user with id %d; want a file of your own", stat.Uid)}
	}
	return nil
}

// stickyDir reports whether only the owner of an entry can replace it.
func stickyDir(info fs.FileInfo) bool { return info.IsDir() && info.Mode()&fs.ModeSticky != 0 }
