package consent

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const (
	sharingViolation = syscall.Errno(32)
	lockRetryPause   = 10 * time.Millisecond
	lockTimeout      = 10 * time.Second
)

// lock locks the file against other processes by opening it without sharing, and waits if
// necessary. The lock ends with unlock or with the process.
func lock(path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(lockRetryPause) {
		h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
		if err == nil {
			return func() { _ = syscall.CloseHandle(h) }, nil
		}
		if !errors.Is(err, sharingViolation) || time.Now().After(deadline) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
	}
}
