package mcpauth

import (
	"errors"
	"os"
	"syscall"
)

// systemHasModes says that the mode of a file tells who may use it.
const systemHasModes = false

const sharingViolation = syscall.Errno(32)

// tryLockFile holds the file until unlock is called or the process ends: who opens
// a file without sharing holds it. Another process or goroutine that does is
// errLocked.
func tryLockFile(path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case err == nil:
		return func() { _ = syscall.CloseHandle(h) }, nil
	case errors.Is(err, sharingViolation):
		return nil, errLocked
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}

// syncDirectory does nothing: the file system keeps the order.
func syncDirectory(string) {}
