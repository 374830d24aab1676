package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
)

// Change is what a file becomes. Nothing is written before Write.
type Change struct {
	// Path is where the file is.
	Path string
	// New tells that there is no file yet.
	New bool

	before, after []byte
	shown         span // what of the new content may be shown
}

// A span is a part of a text, from a start to an end.
type span struct{ start, end int }

// begin reads a file to change, which need not exist.
func begin(path string) (*Change, error) {
	content, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Change{Path: path, New: true}, nil
	case err != nil:
		return nil, err
	}
	return &Change{Path: path, before: content, after: content}, nil
}

// Empty reports whether the file already is as it is to become.
func (c *Change) Empty() bool { return !c.New && bytes.Equal(c.before, c.after) }

// Diff shows the change in the form of diff -u. Texts of the file that are none
// of the host's are shown as "…": they may be secrets.
func (c *Change) Diff() string {
	name := filepath.ToSlash(c.Path)
	return string(diff.Diff(name, c.veil(c.before, span{}), name, c.veil(c.after, c.shown)))
}

// veil hides strings and comments, but not the names of members nor what is in
// the part that may be shown.
func (c *Change) veil(content []byte, shown span) []byte {
	quotes := jsonQuotes
	if isTOML(c.Path) {
		quotes = tomlQuotes
	}
	var veiled []byte
	for start, p := range scan(content, quotes) {
		at := start + len(p.bare)
		end := at + len(p.quoted)
		veiled = append(veiled, p.bare...)
		if len(p.quoted) == 0 || at >= shown.start && end <= shown.end || isName(content[end:]) {
			veiled = append(veiled, p.quoted...)
			continue
		}
		veiled = append(veiled, p.veil()...)
	}
	return veiled
}

// isName reports whether what stands before a text is the name of a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && (rest[0] == ':' || rest[0] == '=')
}

// veil returns the quote without what is in it, on as many lines.
func (p piece) veil() string {
	text := p.quote.open + "…" + strings.Repeat("\n", bytes.Count(p.quoted, []byte("\n")))
	if p.quote.close == "\n" {
		return text
	}
	return text + p.quote.close
}

// Write writes the file as a whole or not at all. It keeps the mode of the file,
// and writes where a symbolic link leads to. With backup it first copies what
// there was to a file beside it, whose path it returns. A file that has changed
// since it was read is left alone.
func (c *Change) Write(backup bool) (copied string, err error) {
	path, mode, err := c.target()
	if err != nil {
		return "", err
	}
	if backup && !c.New {
		copied = path + "." + time.Now().UTC().Format("20060102T150405Z") + ".bak"
		if err := writeNew(copied, c.before, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return copied, replace(path, c.after, mode)
}

// target returns the file that is really written, and its mode.
func (c *Change) target() (path string, mode fs.FileMode, err error) {
	if c.New {
		if _, err := os.Lstat(c.Path); err == nil {
			return "", 0, fmt.Errorf("%s: is a link to nothing, or was made meanwhile; want a file", c.Path)
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
	now, err := read(path)
	if err == nil && !bytes.Equal(now, c.before) {
		err = fmt.Errorf("%s: was changed meanwhile, and is left as it is; try again", c.Path)
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

// replace puts a file in the place of another in one step.
func replace(path string, content []byte, mode fs.FileMode) (err error) {
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
