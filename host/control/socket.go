package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// Dir returns the directory of the user's sockets: fondaco in $XDG_RUNTIME_DIR or, if
// that is not set, a directory for this user among the temporary files. Env looks up a
// variable, like os.LookupEnv.
func Dir(env func(string) (string, bool)) string {
	if dir, _ := env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "fondaco")
	}
	return filepath.Join(os.TempDir(), "fondaco-"+strconv.Itoa(os.Getuid()))
}

// Path returns the path of the socket of a host, by the TCP port that it serves, or 0 if
// it serves none.
func Path(dir string, port int) string {
	if port == 0 {
		return filepath.Join(dir, "stdio-"+strconv.Itoa(os.Getpid())+".sock")
	}
	return filepath.Join(dir, strconv.Itoa(port)+".sock")
}

// Listen listens at a path in a directory that only the user can enter. It replaces the
// socket of a host that has crashed, and fails if a host still listens. Closing the
// listener removes the socket.
func Listen(path string) (net.Listener, error) {
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return l, nil
}

func listen(path string) (net.Listener, error) {
	if err := secure(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%s: a running host listens there", path)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(path, 0o600)
}

// secure creates a directory with mode 0700. It refuses one that others own or can enter.
func secure(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: want a directory", dir)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s: mode %o: others can enter it; want 700", dir, info.Mode().Perm())
	case !isOwn(info):
		return fmt.Errorf("%s: it is owned by another user", dir)
	}
	return nil
}
