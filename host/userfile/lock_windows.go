package userfile

import (
	"errors"
	"os"
	"syscall"
)

const sharingViolation = syscall.Errno(32)

// tryLock locks a file against other processes by opening it without sharing, unless one
// has locked it. The lock ends with unlock or with the process.
func tryLock(path string) (unlock func(), locked bool, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case err == nil:
		return func() { _ = syscall.CloseHandle(h) }, true, nil
	case errors.Is(err, sharingViolation):
		return nil, false, nil
	}
	return nil, false, &os.PathError{Op: "lock", Path: path, Err: err}
}
