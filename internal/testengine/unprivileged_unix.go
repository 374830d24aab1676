//go:build unix

package testengine

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// unprivileged lets a command that refuses to run as root run as the user postgres or nobody, if
// the test runs as root.
func unprivileged(cmd *exec.Cmd) *exec.Cmd {
	if os.Geteuid() != 0 {
		return cmd
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
			break
		}
	}
	cmd.Dir = "/" // the directory of the test may be closed to that user
	return cmd
}

// giveTo makes the user of an unprivileged command the owner of a directory of t.TempDir and of
// files in it.
func giveTo(cmd *exec.Cmd, dir string, files ...string) error {
	if cmd.SysProcAttr == nil || cmd.SysProcAttr.Credential == nil {
		return nil
	}
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		return err
	}
	owner := cmd.SysProcAttr.Credential
	for _, name := range append(files, dir) {
		if err := os.Chown(name, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	return nil
}
