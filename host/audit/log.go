// Package audit writes the audit log of the host: one JSON object per line, in an
// append-only file that only the user can read. Secrets are left out.
package audit

import (
	"cmp"
	"encoding/json/v2"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/fondaco/fondaco/host"
)

// Options of a Log. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// MaxSize is the size in bytes at which a file is rotated. Default: 8 MiB.
	MaxSize int64
	// Keep is the number of rotated files that are kept. Their names end in .1, .2 and so
	// on, the newest first. Default: 4.
	Keep int
}

func (o *Options) maxSize() int64 {
	if o == nil {
		o = new(Options)
	}
	return cmp.Or(o.MaxSize, 8<<20)
}

func (o *Options) keep() int {
	if o == nil {
		o = new(Options)
	}
	return cmp.Or(o.Keep, 4)
}

// Log is an open audit log. Several processes may write to the same file. All methods are
// safe for concurrent use.
type Log struct {
	path    string
	options *Options

	mu      sync.Mutex
	file    *os.File // guarded by mu
	torn    bool     // guarded by mu: the last line is incomplete
	secrets redactor // guarded by mu
}

// Open opens the log at a path, and creates the file and its directory if necessary.
func Open(path string, o *Options) (*Log, error) {
	l := &Log{path: path, options: o}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return l, nil
}

func (l *Log) open() (err error) {
	l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// Hide sets the secrets that are left out of all further lines. Text that looks like a
// secret is always left out.
func (l *Log) Hide(secrets []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets = newRedactor(secrets)
}

// line is the JSON form of a decision.
type line struct {
	host.Decision
	Milliseconds int64 `json:"ms"`
}

// Write appends a decision. The line has been handed to the operating system when it
// returns.
func (l *Log) Write(d host.Decision) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("audit: %w", fs.ErrClosed)
	}
	d.Name, d.Reason = l.secrets.redact(d.Name), l.secrets.redact(d.Reason)
	text, err := json.Marshal(line{d, d.Duration.Milliseconds()})
	if err == nil {
		err = l.rotate()
	}
	if err == nil {
		err = l.append(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// append writes a line. It begins a new line if the last one is incomplete, for instance
// because the disk was full.
func (l *Log) append(line []byte) error {
	if l.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.file.Write(line)
	if n > 0 {
		l.torn = n < len(line)
	}
	return err
}

// rotate rotates a full file, unless another process has done so.
func (l *Log) rotate() error {
	ours, err := l.file.Stat()
	if err != nil {
		return err
	}
	theirs, err := os.Stat(l.path)
	moved := err != nil || !os.SameFile(ours, theirs)
	if !moved && ours.Size() < l.options.maxSize() {
		return nil
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	if !moved {
		l.shift()
	}
	return l.open()
}

// shift renames each rotated file to the next number, dropping the oldest, and the
// current file to .1.
func (l *Log) shift() {
	for i := l.options.keep() - 1; i > 0; i-- {
		_ = os.Rename(fmt.Sprintf("%s.%d", l.path, i), fmt.Sprintf("%s.%d", l.path, i+1))
	}
	_ = os.Rename(l.path, l.path+".1")
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
