package audit

import (
	"context"
	"path/filepath"
	"sync"
	"time"
)

var afterChangeBelow sync.Map // of functions, by directory

func init() {
	afterChange = func(path string) {
		if f, ok := afterChangeBelow.Load(filepath.Dir(path)); ok {
			f.(func())()
		}
	}
}

// AfterChange calls a function after each change of a file of the logs in a directory.
func AfterChange(dir string, f func()) { afterChangeBelow.Store(dir, f) }

// Retain removes and sums up lines as of a time, also of files that were just rotated.
func (l *Log) Retain(now time.Time) error { return l.retain(now, -time.Hour) }

// FlushRepeats writes the lines that count failures.
func (l *Log) FlushRepeats() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeRepeats()
}

// AwaitSyslog waits for a line as Write does.
func AwaitSyslog(sent <-chan error) error { return (&Syslog{ctx: context.Background()}).await(sent) }

// SlotSize is that of the index.
const SlotSize = slotSize

// MaxOTLPHeld limits the lines that wait for a collector, in bytes.
const MaxOTLPHeld = maxOTLPHeld

// Send sends a line as a log does.
func (s *OTLP) Send(r *Record, line []byte) { s.send(r, line) }
