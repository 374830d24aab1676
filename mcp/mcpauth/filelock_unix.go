//go:build unix && !aix && !solaris

package mcpauth

import (
	"errors"
	"os"
	"syscall"
)

// systemHasModes says that the mode of a file tells who may use it.
const systemHasModes = true

// tryLockFile holds the file until unlock is called or the process ends. Another
// process or goroutine that does is errLocked.
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

// syncDirectory writes down which files there are, where directories can be synced.
func syncDirectory(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
