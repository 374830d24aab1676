package files

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// tree is the served part of a root. Its paths satisfy fs.ValidPath.
type tree struct {
	root      *os.Root
	hidden    bool
	maxListed int
}

// entry is one file or directory of a tree.
type entry struct {
	path string
	info fs.FileInfo
	link bool // the path is a symbolic link to it
}

func (e entry) isDir() bool { return e.info.IsDir() }

// modified returns when the entry was modified, in UTC.
func (e entry) modified() time.Time { return e.info.ModTime().UTC() }

// Spec: 2026-07-28 server/resources#common-uri-schemes (file://)
const directoryType = "inode/directory"

// mimeType returns the type by the extension of the name, or "".
func (e entry) mimeType() string {
	if e.isDir() {
		return directoryType
	}
	return typeOfName(e.path)
}

// textTypes are the types of extensions for which some systems have no type or one that
// is not text.
var textTypes = map[string]string{
	".md":   "text/markdown",
	".toml": "application/toml",
	".ts":   "text/x-typescript",
	".yaml": "application/yaml",
	".yml":  "application/yaml",
}

func typeOfName(name string) string {
	ext := strings.ToLower(path.Ext(name))
	return cmp.Or(textTypes[ext], withoutParameters(mime.TypeByExtension(ext)))
}

func withoutParameters(mimeType string) string {
	base, _, _ := strings.Cut(mimeType, ";")
	return base
}

// serves reports whether a name may occur in a path.
func (t tree) serves(name string) bool {
	return utf8.ValidString(name) && (t.hidden || !strings.HasPrefix(name, "."))
}

// walk returns the entries of the tree, breadth first and sorted by name within a
// directory, up to the limit of a list. A directory that cannot be read has no entries,
// unless it is the root, for which walk returns the error.
func (t tree) walk() ([]entry, error) {
	info, err := t.root.Stat(".")
	if err != nil {
		return nil, err
	}
	found := []entry{{path: ".", info: info}}
	for i := 0; i < len(found) && len(found) < t.maxListed; i++ {
		if !found[i].isDir() || found[i].link {
			continue
		}
		below, _, err := t.entries(found[i].path)
		if err != nil && i == 0 {
			return nil, err
		}
		found = append(found, below[:min(len(below), t.maxListed-len(found))]...)
	}
	return found, nil
}

// entries returns the entries of one directory, sorted by name, up to the limit of a list,
// and the number of further ones.
func (t tree) entries(dir string) (entries []entry, more int, err error) {
	d, _, err := t.open(dir)
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	names, more, err := t.names(d)
	for _, n := range names {
		if e, ok := t.entry(path.Join(dir, n)); ok {
			entries = append(entries, e)
		}
	}
	return entries, more, err
}

// names returns the names in a directory, in order and bounded while they are read.
func (t tree) names(d *os.File) (names []string, more int, err error) {
	for {
		batch, err := d.Readdirnames(1024)
		for _, n := range batch {
			if t.serves(n) {
				names = append(names, n)
			}
		}
		if err == nil && len(names) <= 2*t.maxListed {
			continue
		}
		slices.Sort(names)
		if beyond := len(names) - t.maxListed; beyond > 0 {
			names, more = names[:t.maxListed], more+beyond
		}
		if errors.Is(err, io.EOF) {
			return names, more, nil
		}
		if err != nil {
			return names, more, err
		}
	}
}

// entry returns the entry at a path. It returns false for what is not served: a link to a
// missing target or out of the root, a device, a pipe.
func (t tree) entry(p string) (entry, bool) {
	self, err := t.root.Lstat(p)
	if err != nil {
		return entry{}, false
	}
	link := self.Mode()&fs.ModeSymlink != 0
	if link {
		if self, err = t.root.Stat(p); err != nil {
			return entry{}, false
		}
	}
	return entry{p, self, link}, self.IsDir() || self.Mode().IsRegular()
}

// open opens a file or directory. For anything else the error is mcpserver.ErrNotFound.
func (t tree) open(p string) (*os.File, fs.FileInfo, error) {
	local, err := filepath.Localize(p)
	if err != nil {
		return nil, nil, mcpserver.ErrNotFound
	}
	file, err := t.root.OpenFile(local, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, nil, openError(err)
	}
	info, err := file.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = mcpserver.ErrNotFound
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// openError returns ErrNotFound for files that do not exist, that the server may not read
// or that cannot be served, and other errors as they are.
func openError(err error) error {
	_, system := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, fs.ErrClosed):
		return err
	case !system: // os.Root returns such errors for paths out of it
		return mcpserver.ErrNotFound
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return mcpserver.ErrNotFound
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		return mcpserver.ErrNotFound
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EOPNOTSUPP): // a socket
		return mcpserver.ErrNotFound
	}
	return err
}
