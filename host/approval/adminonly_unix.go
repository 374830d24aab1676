//go:build unix

package approval

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// systemDirectories are those in which a file of root was installed by the administrator,
// also where the user of the host is root.
var systemDirectories = []string{"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/", "/nix/store/", "/Library/", "/System/"}

// isAdminOnly reports whether only root can write to a file and to the directories above it,
// so that the user's programs cannot have replaced it. If the user is root, the file must be
// in a directory of the system.
func isAdminOnly(path string) bool {
	if os.Geteuid() == 0 && !inSystemDirectory(path) {
		return false
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		link := info.Mode()&os.ModeSymlink != 0 // whose mode says nothing
		if !ok || stat.Uid != 0 || !link && info.Mode().Perm()&0o022 != 0 {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

func inSystemDirectory(path string) bool {
	for _, dir := range systemDirectories {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}
