package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/host/userfile"
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

// Listen listens at a path in a directory that only the user can enter, and closes
// connections of other users. It replaces the socket of a host that has crashed, and fails
// if a host still listens. Closing the listener removes the socket.
func Listen(path string, log *slog.Logger) (net.Listener, error) {
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return peerListener{l, log}, nil
}

func listen(path string) (net.Listener, error) {
	if err := MakeDir(filepath.Dir(path)); err != nil {
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
	if errors.Is(err, syscall.EINVAL) { // the length is all that can be wrong with it
		return nil, fmt.Errorf("%s: the path has %d bytes, which is too long for a socket; set $XDG_RUNTIME_DIR to a directory with a shorter path", path, len(path))
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// UnsafeError reports that somebody else could be behind a socket: the socket or its
// directory does not belong to the user alone.
type UnsafeError struct{ Err error }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("control socket: %v; set $XDG_RUNTIME_DIR to a directory of your own for another place", e.Err)
}

func (e *UnsafeError) Unwrap() error { return e.Err }

// dial connects to the socket at a path. The error is an *UnsafeError if the host there
// may not be the user's own, and wraps ErrNoHost if nothing listens.
func dial(ctx context.Context, path string) (net.Conn, error) {
	switch err := checkSocket(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	case err != nil:
		return nil, &UnsafeError{err}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	if err := checkPeer(conn); err != nil {
		_ = conn.Close()
		return nil, &UnsafeError{fmt.Errorf("%s: %w", path, err)}
	}
	return conn, nil
}

// checkSocket refuses a socket that is not the user's own, or in a directory that is not.
func checkSocket(path string) error {
	if err := checkDir(filepath.Dir(path)); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case runtime.GOOS != "windows" && info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s: want a socket", path)
	}
	return checkAccess(path, info)
}

// MakeDir makes the directory of sockets if it does not exist. It returns an error if it is not the user's alone.
func MakeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return checkDir(dir)
}

// checkDir refuses a directory that others own, can enter, or can replace.
func checkDir(dir string) error {
	if err := userfile.Check(dir); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: want a directory, and no symbolic link", dir)
	}
	return checkAccess(dir, info)
}

// checkAccess refuses what others own or have access to.
func checkAccess(path string, info fs.FileInfo) error {
	switch mode := info.Mode().Perm(); {
	case !isOwn(info):
		return fmt.Errorf("%s: it is owned by another user", path)
	case runtime.GOOS != "windows" && mode&0o077 != 0:
		return fmt.Errorf("%s: mode %o: others have access; run chmod go-rwx on it", path, mode)
	}
	return nil
}
