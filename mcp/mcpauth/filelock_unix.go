//go:build unix && !aix && !solaris

package mcpauth

import (
	"errors"
	"os"
	"syscall"
)

// systemHasModes means that the mode of a file controls access to it.
const systemHasModes = true

// tryLockFile locks the file until unlock is called or the process ends. If
// another process or goroutine has locked it, the error is errLocked.
func tryLockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, errLocked
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}

// syncDirectory flushes the entries of a directory to disk, if the system supports it.
func syncDirectory(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
