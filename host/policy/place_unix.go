//go:build unix

package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

func systemPath() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/Fondaco/policy.json"
	}
	return "/etc/fondaco/policy.json"
}

// checkDir refuses a directory above the file in which somebody else can replace entries.
func (p Place) checkDir(info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return p.checkOwner(info)
	}
	if err := p.checkOwner(info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("mode %o: others can replace files in it", info.Mode().Perm())
	}
	return nil
}

// checkFile refuses a file that somebody else can change.
func (p Place) checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := p.checkOwner(info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("mode %o: others can write to it", info.Mode().Perm())
	}
	return nil
}

func (p Place) checkOwner(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("its owner is unknown")
	}
	if int(stat.Uid) != p.Owner && stat.Uid != administrator {
		return fmt.Errorf("it belongs to the user with id %d, want the administrator", stat.Uid)
	}
	return nil
}
