package consent

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const (
	sharingViolation = syscall.Errno(32)
	lockPause        = 10 * time.Millisecond
	lockPatience     = 10 * time.Second
)

// lock waits until no other process holds the file, and holds it until unlock is
// called or the process ends. Who opens a file without sharing holds it.
func lock(path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(lockPause) {
		h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
		if err == nil {
			return func() { _ = syscall.CloseHandle(h) }, nil
		}
		if !errors.Is(err, sharingViolation) || time.Now().After(deadline) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
	}
}
