// Package audit writes and reads the audit log of the host: one JSON object per line, in
// append-only files that only the user can read. Each process that writes has a chain of
// its own in them: its lines are numbered, and each has an authentication code that covers
// the code before, so that Verify finds lines that were changed, removed or moved. Secrets
// are left out.
package audit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp"
)

// Options of a Log. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Key returns the key of the authentication codes. It is called before the first line
	// is written, and again if it fails. Default: no key, so whoever can write the files can
	// also make the codes.
	Key func(context.Context) ([]byte, error)
	// Counts keeps how many lines each process has written, apart from the files of the log.
	// Nobody without the user's key can change it. Default: nil, and then nobody finds that
	// all files of the log were removed together.
	Counts mcp.Store
	// MaxFile is the size in bytes at which a file is rotated. Default: 8 MiB.
	MaxFile int64
	// MaxTotal is the size in bytes of all files from which lines are summed up: those
	// about requests that were made, of the owner that has most of them. All other lines are
	// kept for the time of Retention, whatever their size. Default: 64 MiB.
	MaxTotal int64
	// Retention is how long lines are kept. Default: 90 days.
	Retention time.Duration
	// Syslog also gets each line. Default: nil.
	Syslog *Syslog
	// OTLP also gets each line. Default: nil.
	OTLP *OTLP
	// RequireSyslog makes Write wait, for calls that are about to be made, until the line was
	// written to the socket of Syslog, and fail if it cannot be within 5 seconds.
	RequireSyslog bool
	// Logger receives the errors of what is done in the background. Default:
	// slog.Default().
	Logger *slog.Logger
}

func (o *Options) orZero() Options {
	if o == nil {
		o = new(Options)
	}
	full := *o
	full.MaxFile = cmp.Or(o.MaxFile, 8<<20)
	full.MaxTotal = cmp.Or(o.MaxTotal, 64<<20)
	full.Retention = cmp.Or(o.Retention, 90*24*time.Hour)
	full.Logger = cmp.Or(o.Logger, slog.Default())
	return full
}

const (
	// keyWait is how long a line waits for the key, which a keyring may have to be unlocked
	// for. Meanwhile no line is written.
	keyWait = 5 * time.Second
	// rotationWait is how long a line waits for another process that rotates or sums up,
	// and rotationPause how long it is before the next attempt. Meanwhile the file grows.
	rotationWait, rotationPause = 20 * time.Millisecond, time.Second
	// indexWait is how long the first line of a process waits for the same, because no line
	// is written by a process that is not in the index.
	indexWait = time.Second
	// retentionInterval is how often lines are removed by their age.
	retentionInterval = time.Hour
	// maxUnwritten is how many outcomes are kept that could not be written.
	maxUnwritten = 256
)

// Log is an open audit log. Several processes may write to the same files. All methods are
// safe for concurrent use.
type Log struct {
	path    string
	options Options
	ctx     context.Context // ends with the log
	end     context.CancelFunc
	work    sync.WaitGroup // of the retention and the counts

	mu         sync.Mutex
	closed     bool     // guarded by mu, as are all below
	file       *os.File // nil if it could not be opened again
	key        []byte
	keyKnown   bool
	secrets    redactor
	self       writerState
	slot       *slot     // nil until the writer is in the index
	joinErr    error     // why it is not
	joinAgain  time.Time // no attempt is made before
	torn       bool      // the last line is incomplete
	waitUntil  time.Time
	repeats    repeats
	flush      *time.Timer // of repeats
	countTimer *time.Timer // of Options.Counts
	unwritten  []Record    // outcomes that could not be written
	lost       int64       // outcomes that could not be written nor kept
	retained   time.Time   // when the retention ran last
	retaining  bool
}

// Open opens the log at a path, and creates the file and its directory if necessary. Both
// must belong to the user, and nobody else may change them.
func Open(path string, o *Options) (*Log, error) {
	l := &Log{path: path, options: o.orZero(), self: newWriter(), repeats: newRepeats(), retained: time.Now()}
	if err := userfile.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l, nil
}

func newWriter() writerState { return writerState{Writer: rand.Text()[:12]} }

// open opens the file, again if another process rotates it before it is checked.
func (l *Log) open() (err error) {
	for range 10 {
		l.file, err = openOwn(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// Hide sets the secrets that are left out of all further lines. Text that looks like a
// secret is always left out.
func (l *Log) Hide(secrets []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets = newRedactor(secrets)
}

// Write appends a decision. The line has been handed to the operating system when it
// returns. If it fails, the action must not happen. An outcome that could not be written is
// written before the next line, but no approval, consent or grant, because it has no effect.
// Failures of one owner that repeat are counted, in one line a minute.
func (l *Log) Write(d host.Decision) error {
	sent, err := l.write(d)
	if err == nil && sent != nil {
		if err = l.options.Syslog.await(sent); err != nil {
			err = fmt.Errorf("syslog: %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// write is Write without waiting for syslog. It returns what is left to wait for, or nil.
func (l *Log) write(d host.Decision) (sent <-chan error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fs.ErrClosed
	}
	if err := l.findKey(); err != nil {
		return nil, err
	}
	r := l.newRecord(d)
	now := time.Now()
	if !l.repeats.admit(&r, now) {
		l.startFlush()
		return nil, nil
	}
	required := l.options.RequireSyslog && r.Outcome == host.OutcomeBegun
	err = l.writeUnwritten()
	if err == nil && required && !l.options.Syslog.ready() {
		err = errors.New("syslog takes no further lines")
	}
	if err == nil {
		sent, err = l.appendAndSend(&r)
	}
	if err != nil && !precedes(&r) {
		l.keepUnwritten(r)
	}
	if now.Sub(l.retained) > retentionInterval {
		l.startRetention()
	}
	if !required {
		sent = nil
	}
	return sent, err
}

// precedes reports whether a record is written before what it says, which does not happen if
// the record cannot be written.
func precedes(r *Record) bool {
	switch r.Action {
	case host.ActionApprove, host.ActionConsent, host.ActionGrant, host.ActionSwitchOn, host.ActionAddRoot:
		return true
	}
	return r.Outcome == host.OutcomeBegun
}

// findKey gets the key, once.
func (l *Log) findKey() (err error) {
	if l.keyKnown || l.options.Key == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, keyWait)
	defer cancel()
	if l.key, err = l.options.Key(ctx); err != nil {
		return err
	}
	l.keyKnown = true
	return nil
}

// newRecord returns the record of a decision, without secrets.
func (l *Log) newRecord(d host.Decision) Record {
	r := Record{Decision: d, Milliseconds: d.Duration.Milliseconds()}
	r.Name, r.Reason = l.secrets.redactName(r.Name), l.secrets.redact(originsOnly(r.Reason))
	r.Client = l.secrets.redact(r.Client)
	if d.Arguments != "" {
		r.Arguments = ArgumentsCode(l.key, d.Arguments)
	}
	if d.ArgumentsText != nil {
		r.ArgumentsText = host.RedactArguments(d.ArgumentsText, maxArguments, l.secrets.redact)
	}
	r.bound()
	return r
}

// ArgumentsCode returns what a line has for the digest of arguments from
// host.ArgumentsDigest. Without the key nobody can find out which arguments it is of by
// trying some.
func ArgumentsCode(key []byte, digest string) string {
	return code(key, codeOfArguments, []byte(digest))
}

// keepUnwritten keeps a record until it can be written.
func (l *Log) keepUnwritten(r Record) {
	if len(l.unwritten) == maxUnwritten {
		l.lost++
		return
	}
	l.unwritten = append(l.unwritten, r)
}

// writeUnwritten writes the records that could not be written before.
func (l *Log) writeUnwritten() error {
	for len(l.unwritten) > 0 {
		if err := l.append(&l.unwritten[0]); err != nil {
			return err
		}
		l.unwritten = l.unwritten[1:]
	}
	if l.lost == 0 {
		return nil
	}
	r := Record{Decision: host.Decision{Time: time.Now(), Action: actionLose, Outcome: host.OutcomeFailed, Reason: "outcomes that could not be written"}, Count: l.lost}
	err := l.append(&r)
	if err == nil {
		l.lost = 0
	}
	return err
}

// actionLose is the action of a line that counts outcomes that were not recorded.
const actionLose host.Action = "lose"

// append adds a record to the writer's chain.
func (l *Log) append(r *Record) error {
	_, err := l.appendAndSend(r)
	return err
}

// appendAndSend is append. The channel is that of Syslog.send, nil without syslog.
func (l *Log) appendAndSend(r *Record) (<-chan error, error) {
	if err := l.rotate(); err != nil {
		return nil, err
	}
	if err := l.addToIndex(); err != nil {
		return nil, err
	}
	next := l.self
	next.Sequence++
	r.Writer, r.Sequence, r.Previous = next.Writer, next.Sequence, l.self.Last
	line, err := r.encode(l.key)
	if err == nil {
		err = l.appendLine(line)
	}
	if err != nil {
		return nil, err
	}
	next.Last = r.Code
	l.self = next
	l.updateIndex()
	l.startCounting()
	l.options.OTLP.send(r, line)
	if l.options.Syslog == nil {
		return nil, nil
	}
	return l.options.Syslog.send(r, line), nil
}

// appendLine writes a line. It begins a new line if the last one is incomplete, for instance
// because the disk was full.
func (l *Log) appendLine(line []byte) error {
	if l.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.file.Write(line)
	if n > 0 {
		l.torn = n < len(line)
		changed(l.path)
	}
	return err
}

// addToIndex adds the writer to the index. No line is written before: those at the end of a writer
// that is not in the index could be removed unseen, and verify would report it for good.
func (l *Log) addToIndex() error {
	if l.slot != nil && l.slot.check() == errSlotLost { // all lines of this process were removed by their age
		_ = l.slot.file.Close()
		l.slot, l.self = nil, newWriter()
	}
	if l.slot != nil {
		return nil
	}
	if time.Now().Before(l.joinAgain) {
		return l.joinErr
	}
	wait := rotationWait
	if l.joinErr == nil || l.closed {
		wait = indexWait
	}
	if err := l.join(wait); err != nil {
		l.joinErr, l.joinAgain = fmt.Errorf("cannot add this process to the index: %w", err), time.Now().Add(rotationPause)
		return l.joinErr
	}
	l.joinErr = nil
	return nil
}

func (l *Log) join(wait time.Duration) error {
	unlock, err := l.lock(wait)
	if err != nil {
		return err
	}
	defer unlock()
	l.slot, err = addWriter(indexPath(l.path), l.key, l.self.Writer, l.joinCounts)
	return err
}

// updateIndex stores which line is the last. The line itself is in the log already, so a
// failure does not fail the call: Verify trusts lines after the last one of the index.
func (l *Log) updateIndex() {
	if l.slot == nil {
		return
	}
	err := l.slot.update(l.key, l.self)
	if errors.Is(err, errSlotLost) {
		_ = l.slot.file.Close()
		l.slot = nil // the next line adds it again
	}
	if err != nil {
		l.options.Logger.Warn("audit log: cannot update the index", "error", err)
	}
}

// lock takes the lock between processes for a short change.
func (l *Log) lock(wait time.Duration) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), wait, fmt.Errorf("another process has held the lock for %v", wait))
	defer cancel()
	if unlock, err = userfile.Lock(ctx, lockPath(l.path)); err != nil {
		l.waitUntil = time.Now().Add(rotationPause)
	}
	return unlock, err
}

// rotate rotates a full file, unless another process has done so or holds the lock.
func (l *Log) rotate() error {
	if l.file == nil {
		return l.open()
	}
	moved, full, err := l.state()
	switch {
	case err != nil:
		return err
	case moved:
		return l.reopen(nil)
	case !full, time.Now().Before(l.waitUntil):
		return nil
	}
	unlock, err := l.lock(rotationWait)
	if err != nil {
		return nil // the file grows meanwhile
	}
	defer unlock()
	l.startRetention()
	if moved, full, err = l.state(); err != nil || !full || moved {
		return err
	}
	return l.reopen(l.putAside)
}

// reopen closes the file, calls between if it is not nil, and opens the file at the path.
func (l *Log) reopen(between func() error) error {
	_ = l.file.Close() // every line was handed to the system before
	l.file, l.torn = nil, false
	if between != nil {
		if err := between(); err != nil {
			l.waitUntil = time.Now().Add(rotationPause)
			l.options.Logger.Warn("audit log: cannot rotate the file", "error", err)
			l.torn = true // perhaps
		}
	}
	return l.open()
}

// state reports whether the open file is no longer that at the path, and whether it is full.
func (l *Log) state() (moved, full bool, err error) {
	ours, err := l.file.Stat()
	if err != nil {
		return false, false, err
	}
	theirs, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, false, nil
	case err != nil:
		return false, false, err
	}
	return !os.SameFile(ours, theirs), ours.Size() >= l.options.MaxFile, nil
}

// putAside renames the current file. The caller holds the lock between processes.
func (l *Log) putAside() error {
	numbers, err := rotated(l.path)
	if err != nil {
		return err
	}
	last := 0
	if len(numbers) > 0 {
		last = numbers[len(numbers)-1]
	}
	return os.Rename(l.path, rotatedPath(l.path, last+1))
}

// startFlush makes the counted failures be written in a minute.
func (l *Log) startFlush() {
	if l.flush == nil {
		l.flush = time.AfterFunc(repeatInterval, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.flush = nil; !l.closed {
				l.writeRepeats()
			}
		})
	}
}

// writeRepeats writes the lines that count failures.
func (l *Log) writeRepeats() {
	for _, r := range l.repeats.take() {
		if err := l.append(&r); err != nil {
			l.keepUnwritten(r)
			l.options.Logger.Error("audit log: cannot write a line", "error", err)
		}
	}
}

// Close writes what is left and closes the files.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if again {
		return nil
	}
	l.end()
	l.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, timer := range []*time.Timer{l.flush, l.countTimer} {
		if timer != nil {
			timer.Stop()
		}
	}
	l.joinAgain = time.Time{}
	l.writeRepeats()
	err := l.writeUnwritten()
	if err != nil {
		err = fmt.Errorf("lines that could not be written: %d: %w", int64(len(l.unwritten))+l.lost, err)
	}
	if l.slot != nil && l.slot.check() == nil && l.self.Sequence > 0 {
		l.self.Closed = true
		l.updateIndex()
		l.countUntil(l.self, indexWait)
	}
	if l.slot != nil {
		_ = l.slot.file.Close()
	}
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	return err
}
