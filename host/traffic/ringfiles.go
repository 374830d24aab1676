package traffic

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// recordingSuffix ends the name of each file.
const recordingSuffix = ".jsonl"

// partsOfDirectory is how many files of the greatest size a directory has room for.
const partsOfDirectory = 8

// fileRing is the files of a Directory, of which the oldest of the owner with the most are removed. One goroutine uses it.
type fileRing struct {
	maxBytes int64
	files    []ringFile // the oldest first
	total    int64
	open     []*sessionFile // those with an open file, the one written to last at the end
}

type ringFile struct {
	path   string
	size   int64
	owner  owner
	writer *sessionFile // nil if nobody writes to it
}

// earlierRuns owns the files that the directory has at the start. No upstream has that key.
var earlierRuns = owner{upstream: "\x00"}

// readRing reads which recordings a directory has.
func readRing(dir string, maxBytes int64) (*fileRing, error) {
	entries, err := os.ReadDir(dir) // sorted by name, and so by time
	if err != nil {
		return nil, err
	}
	r := &fileRing{maxBytes: maxBytes}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !isRecordingName(e.Name()) {
			continue
		}
		r.files = append(r.files, ringFile{path: filepath.Join(dir, e.Name()), size: info.Size(), owner: earlierRuns})
		r.total += info.Size()
	}
	return r, nil
}

// isRecordingName reports whether a Directory has named the file. Others are never removed.
func isRecordingName(name string) bool {
	base, ok := strings.CutSuffix(name, recordingSuffix)
	var day, second, milli int
	n, _ := fmt.Sscanf(base, "%8d-%6d.%3d-", &day, &second, &milli)
	return ok && n == 3 && len(base) > len("20060102-150405.000-")
}

// append adds a line to the file of a session, and removes old files.
func (r *fileRing) append(dir string, f *sessionFile, line []byte) error {
	if f.path != "" && f.size+int64(len(line)) > r.maxBytes/partsOfDirectory && f.size > f.start {
		r.finish(f)
	}
	if err := r.ready(dir, f); err != nil {
		return err
	}
	n, err := f.open.Write(line)
	r.grow(f, n)
	r.removeOld(f)
	return err
}

// ready opens the file of a session, a new one if it has none.
func (r *fileRing) ready(dir string, f *sessionFile) error {
	if i := slices.Index(r.open, f); i >= 0 {
		r.open = append(slices.Delete(r.open, i, i+1), f)
		return nil
	}
	if len(r.open) >= maxOpenFiles {
		r.shut(r.open[0])
	}
	if f.path != "" {
		file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			f.open, r.open = file, append(r.open, f)
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.finish(f) // somebody has removed it
	}
	path, file, err := f.create(dir)
	if err != nil {
		return err
	}
	f.path, f.size, f.open, r.open = path, 0, file, append(r.open, f)
	r.files = append(r.files, ringFile{path: path, owner: f.owner, writer: f})
	n, err := file.Write(f.firstLines())
	f.start = int64(n)
	r.grow(f, n)
	return err
}

// create creates the next file of a session.
func (f *sessionFile) create(dir string) (path string, file *os.File, err error) {
	for range maxFiles { // another session may have the name
		f.part++
		name := f.base
		if f.part > 1 {
			name += fmt.Sprintf(".%d", f.part)
		}
		path = filepath.Join(dir, name+recordingSuffix)
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return path, file, err
}

func (r *fileRing) grow(f *sessionFile, n int) {
	f.size += int64(n)
	r.total += int64(n)
	if i := slices.IndexFunc(r.files, func(file ringFile) bool { return file.writer == f }); i >= 0 {
		r.files[i].size = f.size
	}
}

// removeOld removes the oldest files of the owners with the most. That of newest, which was just written to, goes only
// if its owner has no other.
func (r *fileRing) removeOld(newest *sessionFile) {
	for len(r.files) > 1 && (r.total > r.maxBytes || len(r.files) > maxFiles) {
		i := r.oldestOf(r.loser(newest.owner), newest)
		old := r.files[i]
		if old.writer != nil {
			r.finish(old.writer) // a session that goes on begins another file
		}
		r.files = slices.Delete(r.files, i, i+1)
		r.total -= old.size
		_ = os.Remove(old.path)
	}
}

// loser returns the owner that loses a file: because of their bytes or, if those are not too many, of their number.
func (r *fileRing) loser(added owner) owner {
	held := make(map[owner]int64)
	for i := range r.files {
		if r.total > r.maxBytes {
			held[r.files[i].owner] += r.files[i].size
		} else {
			held[r.files[i].owner]++
		}
	}
	return loser(held, added)
}

// oldestOf returns the index of the oldest file of an owner. That of newest is the newest.
func (r *fileRing) oldestOf(of owner, newest *sessionFile) (oldest int) {
	for i := range r.files {
		if r.files[i].owner != of {
			continue
		}
		if oldest = i; r.files[i].writer != newest {
			break
		}
	}
	return oldest
}

// finish ends the current file of a session.
func (r *fileRing) finish(f *sessionFile) {
	r.shut(f)
	for i := range r.files {
		if r.files[i].writer == f {
			r.files[i].writer = nil
		}
	}
	f.path, f.size = "", 0
}

func (r *fileRing) shut(f *sessionFile) {
	if f.open != nil {
		_ = f.open.Close()
		f.open = nil
	}
	r.open = slices.DeleteFunc(r.open, func(o *sessionFile) bool { return o == f })
}

func (r *fileRing) close() {
	for len(r.open) > 0 {
		r.shut(r.open[0])
	}
}
