package mcpauth

import (
	"errors"
	"os"
	"syscall"
)

// systemHasModes means that the mode of a file controls access to it.
const systemHasModes = false

const sharingViolation = syscall.Errno(32)

// tryLockFile locks the file, by opening it without sharing, until unlock is called or the process
// ends. If another process or goroutine has locked it, the error is errLocked.
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

// syncDirectory does nothing, because the file system keeps the order of
// operations.
func syncDirectory(string) {}
