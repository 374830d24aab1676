package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
)

// Change is a change of a file that is not written yet.
type Change struct {
	// Path is the path of the file.
	Path string
	// New reports that the file does not exist yet.
	New bool

	before, after []byte
	shown         span     // the part of the new content that may be shown
	secrets       []string // in that part, which are not
}

// A span is a part of a text by its start and end offsets.
type span struct{ start, end int }

// readForChange reads a file to change, which need not exist, by read or readUnchecked.
func readForChange(path string, read func(string) ([]byte, error)) (*Change, error) {
	content, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Change{Path: path, New: true}, nil
	case err != nil:
		return nil, err
	}
	return &Change{Path: path, before: content, after: content}, nil
}

// Empty reports whether the change has no effect.
func (c *Change) Empty() bool { return !c.New && bytes.Equal(c.before, c.after) }

// Diff shows the change in the format of diff -u. Strings of the file that the host did
// not write are shown as "…", because they may be secrets.
func (c *Change) Diff() string {
	name := filepath.ToSlash(c.Path)
	return string(diff.Diff(name, c.redact(c.before, span{}), name, c.redact(c.after, c.shown)))
}

// redact replaces strings and comments by "…", except names of members and the part
// that may be shown.
func (c *Change) redact(content []byte, shown span) []byte {
	quotes := jsonQuotes
	if isTOML(c.Path) {
		quotes = tomlQuotes
	}
	var veiled []byte
	for start, p := range scan(content, quotes) {
		at := start + len(p.bare)
		end := at + len(p.quoted)
		veiled = append(veiled, p.bare...)
		if len(p.quoted) == 0 || at >= shown.start && end <= shown.end && !c.hasSecret(p.quoted) || isName(content[end:]) {
			veiled = append(veiled, p.quoted...)
			continue
		}
		veiled = append(veiled, p.redact()...)
	}
	return veiled
}

// hasSecret reports whether a string that the host has written has one of the secrets. One that has
// an escape may have any.
func (c *Change) hasSecret(quoted []byte) bool {
	return len(c.secrets) > 0 && bytes.IndexByte(quoted, '\\') >= 0 ||
		slices.ContainsFunc(c.secrets, func(secret string) bool { return bytes.Contains(quoted, []byte(secret)) })
}

// isName reports whether a string before rest is the name of a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && (rest[0] == ':' || rest[0] == '=')
}

// redact returns the string or comment with "…" as its content, on the same number of
// lines.
func (p segment) redact() string {
	text := p.quote.open + "…" + strings.Repeat("\n", bytes.Count(p.quoted, []byte("\n")))
	if p.quote.close == "\n" {
		return text
	}
	return text + p.quote.close
}

// Write writes the file completely or not at all. It keeps the mode of the file and
// follows symbolic links. With backups, which is a directory, it first copies the old content
// to a file there, and returns the path of the copy. It fails if the file has changed since it
// was read.
func (c *Change) Write(backups string) (copied string, err error) {
	path, mode, err := c.resolveTarget()
	if err != nil {
		return "", err
	}
	if backups != "" && !c.New {
		name := filepath.Join(backups, filepath.Base(path)) + "." + time.Now().UTC().Format("20060102T150405Z")
		copied = name + ".bak"
		err := writeNew(copied, c.before, mode)
		for n := 2; errors.Is(err, fs.ErrExist); n++ { // a copy of the same second
			copied = fmt.Sprintf("%s-%d.bak", name, n)
			err = writeNew(copied, c.before, mode)
		}
		if err != nil {
			return "", err
		}
	}
	return copied, replaceFile(path, c.after, mode)
}

// resolveTarget returns the file that is written after symbolic links, and its mode.
func (c *Change) resolveTarget() (path string, mode fs.FileMode, err error) {
	if c.New {
		if _, err := os.Lstat(c.Path); err == nil {
			return "", 0, fmt.Errorf("%s: is a dangling symbolic link, or was created in the meantime; want a file", c.Path)
		}
		return c.Path, 0o600, os.MkdirAll(filepath.Dir(c.Path), 0o700)
	}
	if path, err = filepath.EvalSymlinks(c.Path); err != nil {
		return "", 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	now, err := readUnchecked(path)
	if err == nil && !bytes.Equal(now, c.before) {
		err = fmt.Errorf("%s: was changed in the meantime and is not written; try again", c.Path)
	}
	return path, info.Mode().Perm(), err
}

// writeNew writes a file that does not exist yet.
func writeNew(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// replaceFile replaces a file atomically.
func replaceFile(path string, content []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
