package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// systemPath asks the system and not the environment, which the user can set.
func systemPath() string {
	dir, err := windows.KnownFolderPath(windows.FOLDERID_ProgramData, 0)
	if err != nil {
		dir = `C:\ProgramData`
	}
	return filepath.Join(dir, "Fondaco", "policy.json")
}

// checkDir checks nothing: every user may create files in the directory for data of all
// programs, and the owner of the file says who has created it.
func (p Place) checkDir(fs.FileInfo) error { return nil }

// checkFile refuses a file that does not belong to the administrators or the system. It does
// not read the access control list.
func (p Place) checkFile(f *os.File) error {
	if testPath != "" || p.Path != systemPath() {
		return nil
	}
	security, err := windows.GetSecurityInfo(windows.Handle(f.Fd()), windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	owner, _, err := security.Owner()
	if err != nil {
		return err
	}
	if owner == nil {
		return errors.New("its owner is unknown")
	}
	if !owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) && !owner.IsWellKnown(windows.WinLocalSystemSid) {
		return fmt.Errorf("it belongs to %s, want the administrators", owner)
	}
	return nil
}
