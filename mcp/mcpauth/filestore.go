package mcpauth

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/seal"
)

const (
	maxStored = 1 << 20
	// roomStored is allocated on disk before a token is renewed, because a renewed token that
	// cannot be written may be lost.
	roomStored = 32 << 10
	lockPause  = 10 * time.Millisecond
	// maxLockWait is how long Update waits for another process. Locks are held while a token
	// is renewed, so a process that holds one for longer is stopped or hangs.
	maxLockWait = time.Minute
)

// FileStore returns a store of files in a directory, one for each key, which several processes may
// use concurrently. The files are encrypted with AES-256-GCM under a secret key of 32 random bytes,
// which must be stored elsewhere, and are bound to their key in the store: a damaged or exchanged
// file is an error. The directory is created if it does not exist. Only the user can access the
// directory and the files (0700 and 0600); if others have access, the store returns errors. On
// Windows the user must set the access control of the directory.
//
// Update waits for another process until its context ends, at most one minute. After a crash or
// with a full disk, a file has the old value or the new one.
func FileStore(dir string, key []byte) (Store, error) {
	ring, err := seal.NewRing(seal.Key{ID: "tokens", Secret: key})
	if err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	s := &fileStore{dir: dir, names: bytes.Clone(key), ring: ring}
	if err := checkPrivate(dir, os.Lstat); err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	return s, nil
}

type fileStore struct {
	dir   string
	names []byte // key of the names of files, which tell nothing
	ring  *seal.Ring
}

var _ Store = (*fileStore)(nil)

func (s *fileStore) path(key string) string {
	mac := hmac.New(sha256.New, s.names)
	_, _ = io.WriteString(mac, "file name "+key)
	return filepath.Join(s.dir, hex.EncodeToString(mac.Sum(nil)[:16]))
}

func (s *fileStore) Load(_ context.Context, key string) ([]byte, error) {
	value, err := s.read(s.path(key), key)
	if err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	return value, nil
}

func (s *fileStore) read(path, key string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkPrivate(path, func(string) (fs.FileInfo, error) { return f.Stat() }); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 2*maxStored))
	if err != nil {
		return nil, err
	}
	value, err := s.ring.Open(string(text), []byte(key), time.Time{})
	if err != nil {
		return nil, fmt.Errorf("%s is damaged or was sealed with another key: use that key, or remove the file and sign in again", path)
	}
	return value, nil
}

// Update locks a file next to the value's file. The system releases the lock
// when the process ends.
func (s *fileStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	path := s.path(key)
	unlock, err := lockFile(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("token store: %w", err)
	}
	defer unlock()
	old, err := s.Load(ctx, key)
	if err != nil {
		return err
	}
	next, err := createFile(path + ".new")
	if err != nil {
		return fmt.Errorf("token store: %w", err)
	}
	defer next.discard()
	value, err := change(old)
	if err != nil {
		return err
	}
	if err := s.replace(next, path, key, old, value); err != nil {
		return fmt.Errorf("token store: %w", err)
	}
	return nil
}

func (s *fileStore) replace(next *nextFile, path, key string, old, value []byte) error {
	switch {
	case value == nil && old == nil, value != nil && old != nil && bytes.Equal(old, value):
		return nil
	case value == nil:
		return os.Remove(path)
	case len(value) > maxStored:
		return fmt.Errorf("value of %d bytes: want at most %d", len(value), maxStored)
	}
	return next.replaceFile(path, s.ring.Seal(value, []byte(key), seal.Forever)) // grants have an expiry of their own
}

// checkPrivate returns an error if others than the user have access, or if it
// is neither a directory nor a file.
func checkPrivate(path string, stat func(string) (fs.FileInfo, error)) error {
	info, err := stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a %v: want a directory or a file of its own", path, info.Mode().Type())
	}
	if open := info.Mode().Perm() & 0o077; systemHasModes && open != 0 {
		return fmt.Errorf("%s is accessible to other users (mode %#o): want no permissions for group and others", path, info.Mode().Perm())
	}
	return nil
}

// nextFile is a temporary file that replaces another atomically.
type nextFile struct{ file *os.File }

// createFile creates a file that only the user can access, with allocated space. It overwrites a
// file that a crash has left.
func createFile(path string) (*nextFile, error) {
	_ = os.Remove(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	n := &nextFile{f}
	_, err = f.Write(make([]byte, roomStored))
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		n.discard()
		return nil, err
	}
	return n, nil
}

func (n *nextFile) replaceFile(path, content string) error {
	_, err := n.file.WriteAt([]byte(content), 0)
	if err == nil {
		err = n.file.Truncate(int64(len(content)))
	}
	if err == nil {
		err = n.file.Sync()
	}
	if err = errors.Join(err, n.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(n.file.Name(), path); err != nil {
		return err
	}
	syncDirectory(filepath.Dir(path))
	return nil
}

// discard removes the file, unless it has replaced the other.
func (n *nextFile) discard() {
	_ = n.file.Close()
	_ = os.Remove(n.file.Name())
}

// lockFile waits until the file is not locked, at most maxLockWait, and locks it until unlock is
// called or the process ends. It does not remove the file, because waiting
// processes have it open.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxLockWait, fmt.Errorf("%w for %v", errLocked, maxLockWait))
	defer cancel()
	for {
		unlock, err := tryLockFile(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, &os.PathError{Op: "lock", Path: path, Err: context.Cause(ctx)}
		}
	}
}

// errLocked means that a file is locked by another.
var errLocked = errors.New("held by another process")
