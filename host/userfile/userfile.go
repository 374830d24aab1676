// Package userfile reads and writes files that the host trusts: they belong to the user
// or to the administrator, and nobody else can change them. It also says what paths mean that
// others have written.
package userfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Check returns an error unless the file or directory at a path belongs to the user or to
// the administrator, nobody else can write to it, and the same holds for the directories
// above it. Directories that everybody can write to are accepted above the path if only
// the owner of an entry can replace it, as in /tmp. Symbolic links are followed if they
// belong to the user or to the administrator, and the directories that they are in are
// checked as well. On Windows, where directories of the user pass their permissions on, it
// checks nothing but that the path exists.
func Check(path string) error {
	_, err := checked(path)
	return err
}

// maxLinks limits the symbolic links of one path.
const maxLinks = 40

// checked is Check, and returns the path without symbolic links.
func checked(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		return filepath.EvalSymlinks(path)
	}
	at, links := "/", 0
	rest := strings.Split(path, "/")
	info, err := os.Lstat(at)
	var writable *AccessError // names all that others can write to
	for err == nil {
		for len(rest) > 0 && (rest[0] == "" || rest[0] == ".") {
			rest = rest[1:]
		}
		err = checkInfo(at, info, len(rest) > 0)
		if found, ok := errors.AsType[*AccessError](err); ok && found.writable != nil {
			writable, err = writable.with(found), nil
		}
		if err != nil || len(rest) == 0 {
			break
		}
		next := filepath.Join(at, rest[0])
		if info, err = os.Lstat(next); err != nil {
			break
		}
		rest = rest[1:]
		if info.Mode().Type() != fs.ModeSymlink {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
		}
		if at, rest, err = followLink(at, next, info, rest); err == nil {
			info, err = os.Lstat(at)
		}
	}
	if writable != nil && (err == nil || errors.Is(err, fs.ErrNotExist)) { // somebody may have removed the file
		err = writable
	}
	return at, err
}

// followLink returns where a path continues after a symbolic link in a directory: at which
// directory, and its further elements.
func followLink(dir, link string, info fs.FileInfo, rest []string) (at string, further []string, err error) {
	if err := checkOwner(link, info); err != nil {
		return "", nil, err
	}
	target, err := os.Readlink(link)
	if err != nil {
		return "", nil, err
	}
	if filepath.IsAbs(target) {
		dir = "/"
	}
	return dir, append(strings.Split(target, "/"), rest...), nil
}

// MkdirAll creates a directory that only the user can enter, if it does not exist, and
// checks it.
func MkdirAll(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return Check(dir)
}

// ReadFile returns the content of a file that Check accepts. A file of more than maxBytes
// is an error.
func ReadFile(path string, maxBytes int64) ([]byte, error) {
	path, err := checked(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // to open a pipe would block
		return nil, cmp.Or(err, fmt.Errorf("%s: want a regular file", path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat() // of the file that is read, should the path have changed since
	if err == nil {
		err = checkInfo(path, info, false)
	}
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && int64(len(content)) > maxBytes {
		err = fmt.Errorf("%s: more than %d bytes", path, maxBytes)
	}
	return content, err
}

// WriteFile writes a file that only the user can read, completely or not at all. After a
// crash the file has the old content or the new one.
func WriteFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// An AccessError reports that somebody else could change a file.
type AccessError struct {
	Path string
	// Reason says who has access. Error adds the command that mends it.
	Reason string

	writable []string // on the way to a file, what others can write to
	readable bool     // by others
}

func (e *AccessError) Error() string {
	text := e.Path + ": " + e.Reason
	if e.readable {
		text += "; chmod 600 " + shellWord(e.Path)
	}
	if len(e.writable) > 0 {
		text += "; chmod go-w"
	}
	for _, path := range e.writable {
		text += " " + shellWord(path)
	}
	return text
}

// shellWord returns a path as a word for a shell.
func shellWord(path string) string {
	if !strings.ContainsAny(path, " \t\n'\"\\`$&;|<>()*?[]#~=%!{}") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// with returns the first error, with a command that mends both. The receiver may be nil.
func (e *AccessError) with(found *AccessError) *AccessError {
	if e == nil {
		return found
	}
	if !slices.Contains(e.writable, found.Path) {
		e.writable = append(e.writable, found.Path)
	}
	return e
}

// CheckPrivate returns an error if others can read the file at a path. On Windows it checks
// nothing but that the file exists.
func CheckPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return &AccessError{Path: path, Reason: fmt.Sprintf("mode %o: others can read it", mode), readable: true}
	}
	return nil
}
