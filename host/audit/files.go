package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/host/userfile"
)

// The files of a log at audit.jsonl:
//
//	audit.jsonl           the lines that are written now
//	audit.jsonl.000007    lines from before, in the order of the numbers
//	audit.jsonl.index     the index of writers
//	audit.jsonl.lock      the lock for everything but appending a line
//
// A file that was made of several begins with a line that names the first of them, so that
// those left behind by a crash are not read twice.

func indexPath(log string) string { return log + ".index" }
func lockPath(log string) string  { return log + ".lock" }

func rotatedPath(log string, n int) string { return fmt.Sprintf("%s.%06d", log, n) }

// openOwn opens a file of the user that nobody else can read or change, as far as the
// system says.
func openOwn(path string, flag int) (*os.File, error) {
	f, err := openRegular(path, flag)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(userfile.Check(path), userfile.CheckPrivate(path)); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// openRegular opens a regular file. It does not wait for the other end of a pipe, which may be in
// its place.
func openRegular(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|nonblocking, 0o600)
	if err != nil {
		if info, failed := os.Stat(path); failed == nil && !info.Mode().IsRegular() { // which may be why
			err = errNotRegular(path)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular(path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func errNotRegular(path string) error { return fmt.Errorf("%s: want a regular file", path) }

// rotated returns the numbers of the rotated files of a log, the oldest first.
func rotated(log string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Dir(log))
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), filepath.Base(log)+".")
		if n, err := strconv.Atoi(suffix); ok && err == nil && n > 0 && len(suffix) >= 6 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// fileHead is the first line of a file that was made of several: it replaces those whose
// numbers are at least First and less than its own.
type fileHead struct {
	First int `json:"replaces"`
}

const codeOfFile = "file"

// logFile is an open file of a log.
type logFile struct {
	*os.File
	path   string
	number int   // 0 for the file that is written now
	limit  int64 // where reading ends
}

// limitFiles makes files end where they end now.
func limitFiles(files []*logFile) error {
	for _, f := range files {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		f.limit = info.Size()
	}
	return nil
}

// openAll opens the files of a log for reading, the oldest first, without those that another
// one replaces. The caller holds the lock of the log, unless it can do without the latest
// lines.
func openAll(log string, key []byte) (files []*logFile, err error) {
	numbers, err := rotated(log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeFiles(files)
		}
	}()
	for _, n := range append(numbers, 0) {
		path := log
		if n > 0 {
			path = rotatedPath(log, n)
		}
		f, err := openRegular(path, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return files, err
		}
		opened := &logFile{f, path, n, math.MaxInt64}
		files = append(files, opened)
		if first, ok := opened.replaces(key); ok {
			files = slices.DeleteFunc(files, func(f *logFile) bool {
				replaced := f.number >= first && f.number < n
				if replaced {
					_ = f.Close()
				}
				return replaced
			})
		}
	}
	return files, nil
}

func closeFiles(files []*logFile) {
	for _, f := range files {
		_ = f.Close()
	}
}

// replaces returns the number of the first file that the file replaces, if it does.
func (f *logFile) replaces(key []byte) (first int, ok bool) {
	start := make([]byte, slotSize)
	n, _ := f.ReadAt(start, 0)
	line, _, _ := bytes.Cut(start[:n], []byte{'\n'})
	var head fileHead
	if decodeSlot(key, codeOfFile, line, &head) != nil {
		return 0, false
	}
	return head.First, true
}

// textLine is a line of a file.
type textLine struct {
	number int
	text   []byte // without the line feed; valid until the next line is read
	long   bool   // more than maxLine bytes, of which text has the first
	ended  bool   // by a line feed
}

// lines returns the lines of a file from its beginning.
func (f *logFile) lines() iter.Seq2[textLine, error] {
	return func(yield func(textLine, error) bool) {
		r := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.limit), maxLine)
		for number := 1; ; number++ {
			text, err := r.ReadSlice('\n')
			l := textLine{number: number, text: bytes.TrimSuffix(text, []byte{'\n'}), ended: err == nil}
			if errors.Is(err, bufio.ErrBufferFull) {
				l.text, l.long = bytes.Clone(text), true
				for errors.Is(err, bufio.ErrBufferFull) {
					_, err = r.ReadSlice('\n')
				}
				l.ended = err == nil
			}
			if err != nil && err != io.EOF {
				yield(l, err)
				return
			}
			if (len(l.text) > 0 || l.ended) && !yield(l, nil) || err == io.EOF {
				return
			}
		}
	}
}

// decodeLine returns the record of a line. A line that begins with what another writer left
// incomplete, because the disk was full, has its record at the end; partial reports that.
func decodeLine(key, line []byte) (r Record, partial bool, err error) {
	if r, err = decode(key, line); err == nil {
		return r, false, nil
	}
	if at := bytes.LastIndex(line, recordStart); at > 0 {
		if rest, err := decode(key, line[at:]); err == nil {
			return rest, true, nil
		}
	}
	return r, false, err
}

// recordStart is how each record begins. It is nowhere else in a record, because quotes in
// strings are escaped.
var recordStart = []byte(`{"time":"`)
