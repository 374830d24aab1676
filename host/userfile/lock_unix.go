//go:build unix

package userfile

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file against other processes, unless one has locked it. The lock ends
// with unlock or with the process.
func tryLock(path string) (unlock func(), locked bool, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return func() { _ = f.Close() }, true, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		err = nil
	default:
		err = &os.PathError{Op: "lock", Path: path, Err: err}
	}
	_ = f.Close()
	return nil, false, err
}
