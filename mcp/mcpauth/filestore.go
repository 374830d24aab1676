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
	// roomStored is taken on the disk before a value is asked for, as a token that
	// was renewed and cannot be written down may be lost for good.
	roomStored = 32 << 10
	lockPause  = 10 * time.Millisecond
)

// sealedForever is the expiry of what is sealed: grants say themselves when they
// end.
var sealedForever = time.Unix(1<<40, 0)

// FileStore returns a store of files in a directory, one for each key, which several
// processes may use at once. They are encrypted with AES-256-GCM under a secret key
// of 32 random bytes that is to be kept elsewhere, and bound to what they belong to:
// one that was damaged, or put in the place of another, is an error. The directory is
// made if there is none. It and the files are the user's alone (0700 and 0600); if
// others may enter it, or read them, the store refuses to work. On Windows the
// access control of the directory is left to the user.
//
// A crash or a full disk leaves the old value or the new one.
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
		return nil, fmt.Errorf("%s was damaged or sealed with another key; with that key it opens, and without the file you sign in again", path)
	}
	return value, nil
}

// Update holds a lock beside the file, which the end of the process gives back.
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
	return next.become(path, s.ring.Seal(value, []byte(key), sealedForever))
}

// checkPrivate returns an error for what others than the user can use, and for
// what is neither a directory nor a file.
func checkPrivate(path string, stat func(string) (fs.FileInfo, error)) error {
	info, err := stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a %v: want a directory or a file of its own", path, info.Mode().Type())
	}
	if open := info.Mode().Perm() & 0o077; systemHasModes && open != 0 {
		return fmt.Errorf("%s may be used by others (mode %#o): want no rights for group and others", path, info.Mode().Perm())
	}
	return nil
}

// nextFile is to take the place of another, whole or not at all.
type nextFile struct{ file *os.File }

// createFile makes a file that only the user can read, with room in it. One that a
// crash has left is written anew.
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

func (n *nextFile) become(path, content string) error {
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

// discard removes the file, unless it took the place of the other.
func (n *nextFile) discard() {
	_ = n.file.Close()
	_ = os.Remove(n.file.Name())
}

// lockFile waits until nobody else holds the file, and holds it until unlock is
// called or the process ends. The file stays, as who waits for it has opened it.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
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

// errLocked says that another holds a file.
var errLocked = errors.New("held by another process")
