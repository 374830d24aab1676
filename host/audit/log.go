// Package audit keeps a record of what the host has decided: one JSON object on
// each line of a file that only the user can read, and to which lines are only
// ever added. Secrets are left out.
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
	// MaxSize is the size at which a file is put aside and a new one begun, in
	// bytes. Default: 8 MiB.
	MaxSize int64
	// Keep is how many files that were put aside are kept. They are named like
	// the file with .1, .2 and so on, the newest first. Default: 4.
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

// Log is an open record. Several processes may write the same one. All methods
// are safe for concurrent use.
type Log struct {
	path    string
	options *Options

	mu      sync.Mutex
	file    *os.File // guarded by mu
	torn    bool     // guarded by mu: the last line was not written to its end
	secrets redactor // guarded by mu
}

// Open opens the record at a path, and makes it and its directory where there is
// none.
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

// Hide has texts left out of everything that is written from now on, in place of
// those given before. What looks like a secret is left out in any case.
func (l *Log) Hide(secrets []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets = newRedactor(secrets)
}

// line is a decision as it is written.
type line struct {
	host.Decision
	Milliseconds int64 `json:"ms"`
}

// Write adds a decision. The line is with the operating system when it returns.
func (l *Log) Write(d host.Decision) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("audit: %w", fs.ErrClosed)
	}
	d.Name, d.Reason = l.secrets.redact(d.Name), l.secrets.redact(d.Reason)
	text, err := json.Marshal(line{d, d.Took.Milliseconds()})
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

// append writes a line, behind the rest of one that was not written to its end: the
// disk may have been full.
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

// rotate puts a full file aside, unless another process has done so.
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

// shift renames the files that were put aside, the oldest over the one before,
// and the file itself.
func (l *Log) shift() {
	for i := l.options.keep() - 1; i > 0; i-- {
		_ = os.Rename(fmt.Sprintf("%s.%d", l.path, i), fmt.Sprintf("%s.%d", l.path, i+1))
	}
	_ = os.Rename(l.path, l.path+".1")
}

// Close closes the record.
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
