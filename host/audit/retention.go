package audit

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
)

// settleTime is how long a file was not written to before lines are removed from it: another
// process may still append a line to a file that was just rotated.
const settleTime = time.Minute

// maxSums limits the lines that one retention writes about requests that it sums up. The
// rest are counted without their names.
const maxSums = 500

// startRetention removes and sums up lines in the background, unless that is under way. The
// caller holds mu.
func (l *Log) startRetention() {
	l.retained = time.Now()
	if l.retaining || l.closed {
		return
	}
	l.retaining = true
	now := l.retained
	l.work.Go(func() {
		err := l.retain(now, settleTime)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.retaining = false; err != nil && l.ctx.Err() == nil {
			l.options.Logger.Warn("audit log: cannot remove old lines", "error", err)
		}
	})
}

// retain removes the lines that are older than the retention time, and sums up lines if the
// log is too large:
//
//	choose            which lines of the rotated files are removed
//	 └─ rewrite       a new file with the rest
//	 └─ report        lines in the log that say what was removed, before it is
//	 └─ replace       the new file takes the place of the others
func (l *Log) retain(now time.Time, settle time.Duration) error {
	unlock, err := userfile.Lock(l.ctx, lockPath(l.path))
	if err != nil {
		return err
	}
	defer unlock()
	files, err := openAll(l.path, l.key)
	if err != nil {
		return err
	}
	defer closeFiles(files)
	if err := l.rotateByAge(files, now); err != nil {
		return err
	}
	old, total, err := settled(files, now.Add(-settle))
	if err != nil || len(old) == 0 {
		return err
	}
	c := &removal{key: l.key, before: now.Add(-l.options.Retention), owners: make(map[owner]bool), runs: make(map[string][]Run), sums: make(map[sumKey]*Record)}
	excess := int64(0)
	if total > l.options.MaxTotal {
		excess = total - l.options.MaxTotal*3/4
	}
	if err := c.choose(l.ctx, old, excess); err != nil || !c.needed {
		return err
	}
	return l.remove(c, old)
}

// rotateByAge rotates the current file if its lines are old, so that they can be removed
// although the file is small.
func (l *Log) rotateByAge(files []*logFile, now time.Time) error {
	last := files[max(0, len(files)-1)]
	if last.number != 0 {
		return nil
	}
	for line, err := range last.lines() {
		if err != nil {
			return err
		}
		if r, _, err := decodeLine(l.key, line.text); err == nil {
			if now.Sub(r.Time) < l.options.Retention/4 {
				return nil
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if moved, _, err := l.state(); err != nil || moved {
				return err
			}
			return l.reopen(l.putAside)
		}
	}
	return nil
}

// settled returns the oldest rotated files, up to the first that somebody may write to, and the
// size of all files.
func settled(files []*logFile, before time.Time) (old []*logFile, total int64, err error) {
	for i, f := range files {
		info, err := f.Stat()
		if err != nil {
			return nil, 0, err
		}
		total += info.Size()
		if f.number > 0 && !info.ModTime().After(before) && len(old) == i {
			old = append(old, f)
		}
	}
	return old, total, nil
}

// removal says which lines are removed, and collects what has to be said about them.
type removal struct {
	key    []byte
	before time.Time      // lines of before are removed
	owners map[owner]bool // whose plain lines are summed up
	needed bool
	kept   int64            // number of lines
	runs   map[string][]Run // by writer
	sums   map[sumKey]*Record
	byAge  int64
}

// sumKey is what the summed up requests of one line have in common.
type sumKey struct {
	owner
	client, upstream, name, grant string
	action                        host.Action
	outcome                       host.Outcome
}

// choose decides what is removed: what is too old, and plain lines of as few owners as make
// the log smaller by the excess.
func (c *removal) choose(ctx context.Context, files []*logFile, excess int64) error {
	size := make(map[owner]int64)
	for _, f := range files {
		for line, err := range f.lines() {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			r, _, err := decodeLine(c.key, line.text)
			switch {
			case err != nil:
			case r.Time.Before(c.before):
				c.needed = true
				excess -= int64(len(line.text)) + 1
			case r.plain():
				size[r.owner()] += int64(len(line.text)) + 1
			}
		}
	}
	if excess <= 0 {
		return nil
	}
	most := slices.SortedFunc(maps.Keys(size), func(a, b owner) int {
		return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a.principal+a.client+a.upstream, b.principal+b.client+b.upstream))
	})
	for _, o := range most {
		if excess <= 0 {
			break
		}
		c.owners[o], c.needed = true, true
		excess -= size[o]
	}
	return nil
}

// take reports whether a record is removed, and collects it then.
func (c *removal) take(r *Record) bool {
	byAge := r.Time.Before(c.before)
	if !byAge && !(r.plain() && c.owners[r.owner()]) {
		return false
	}
	for _, run := range append(r.Removed, Run{r.Writer, r.Sequence, r.Sequence, r.Code}) {
		all := c.runs[run.Writer]
		if n := len(all); n > 0 && all[n-1].Last+1 == run.First {
			all[n-1].Last, all[n-1].Code = run.Last, run.Code
			continue
		}
		c.runs[run.Writer] = append(all, run)
	}
	if byAge {
		c.byAge++
		return true
	}
	k := sumKey{r.owner(), r.Client, r.Upstream, r.Name, r.Grant, r.Action, r.Outcome}
	if len(c.sums) >= maxSums && c.sums[k] == nil {
		k = sumKey{owner: k.owner, client: k.owner.client, upstream: r.Upstream, name: severalNames, action: r.Action, outcome: r.Outcome}
	}
	sum := c.sums[k]
	if sum == nil {
		first := *r
		first.Client, first.Name, first.Grant, first.Removed = k.client, k.name, k.grant, nil
		first.From = r.Time
		if !r.From.IsZero() {
			first.From = r.From
		}
		first.Count, first.Call, first.Session, first.Arguments, first.ArgumentsText, first.Milliseconds = 0, "", "", "", "", 0
		sum = &first
		c.sums[k] = sum
	}
	sum.Count += r.count()
	sum.Milliseconds += r.Milliseconds
	sum.Time = r.Time
	return true
}

// remove rewrites files without what is removed.
func (l *Log) remove(c *removal, files []*logFile) error {
	next, err := os.CreateTemp(filepath.Dir(l.path), ".audit-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(next.Name())
	defer next.Close()
	if err := c.rewrite(l.ctx, next, files); err != nil {
		return err
	}
	gone, err := l.report(c)
	if err != nil {
		return err
	}
	if err := errors.Join(next.Sync(), next.Close()); err != nil {
		return err
	}
	closeFiles(files) // before the rename, which Windows refuses for an open file
	if err := l.replace(files[len(files)-1], next.Name(), c.kept > 0); err != nil || len(gone) == 0 {
		return err
	}
	// The slots last: what is left if the process is killed before is found by them.
	if err := forgetCounts(l.ctx, l.options.Counts, gone); err != nil {
		return err
	}
	return forgetWriters(indexPath(l.path), l.key, gone)
}

// replace removes the rotated files up to the last one, which another file takes the place of if
// something is left. It also removes those that a process left behind which was killed here.
func (l *Log) replace(last *logFile, by string, left bool) error {
	numbers, err := rotated(l.path)
	if err != nil {
		return err
	}
	if left {
		if err := os.Rename(by, last.path); err != nil {
			return err
		}
		changed(last.path)
	}
	for _, n := range numbers { // the oldest first, because a later one may replace it
		if path := rotatedPath(l.path, n); n < last.number || n == last.number && !left {
			err = errors.Join(err, os.Remove(path))
			changed(path)
		}
	}
	return err
}

// rewrite writes the lines that are kept. A line that is no record is kept if the record
// before it is.
func (c *removal) rewrite(ctx context.Context, to io.Writer, files []*logFile) error {
	first, ok := files[0].replaces(c.key)
	if !ok {
		first = files[0].number
	}
	head, err := encodeSlot(c.key, codeOfFile, fileHead{first})
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(to, maxLine) // which keeps its first error
	_, _ = buffered.Write(head)
	for _, f := range files {
		isKept := false // the record before
		for line, err := range f.lines() {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			r, partial, err := decodeLine(c.key, line.text)
			switch {
			case err == nil && c.take(&r):
				isKept = false
				if !partial {
					continue
				}
			case err == nil:
				isKept = true
			case line.number == 1 && isFileHead(c.key, line.text), !isKept:
				continue
			}
			_, _ = buffered.Write(line.text)
			_ = buffered.WriteByte('\n')
			c.kept++
		}
	}
	return buffered.Flush()
}

// isFileHead reports whether a line is the first of a file that replaces others.
func isFileHead(key, line []byte) bool {
	var head fileHead
	return decodeSlot(key, codeOfFile, line, &head) == nil
}

// report writes what is removed into the log, so that nobody misses it from then on. It returns the
// last lines of the writers of which nothing is left.
func (l *Log) report(c *removal) (gone map[string]int64, err error) {
	f, x, err := openIndex(indexPath(l.path), l.key) // nothing is removed if it cannot be changed then
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	gone = make(map[string]int64)
	var runs []Run
	for writer, of := range c.runs {
		of = joinRuns(of)
		w, ok := x.writers[writer]
		if !ok {
			continue // of which nothing was left before
		}
		if len(of) == 1 && of[0].First == 1 && of[0].Last >= w.Sequence && writer != l.self.Writer {
			gone[writer] = of[0].Last
		}
		runs = append(runs, of...)
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(cmp.Compare(a.Writer, b.Writer), cmp.Compare(a.First, b.First)) })
	sums := slices.SortedFunc(maps.Values(c.sums), func(a, b *Record) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Name, b.Name)) })
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range slices.Chunk(runs, maxRuns) {
		r := Record{Decision: host.Decision{Time: time.Now(), Action: ActionRemove, Outcome: host.OutcomeDone, Reason: c.reason()}, Removed: slices.Clone(part)}
		if err := l.append(&r); err != nil {
			return nil, err
		}
	}
	for _, sum := range sums {
		if err := l.append(sum); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

func (c *removal) reason() string {
	if len(c.owners) == 0 {
		return "older than the retention time"
	}
	return fmt.Sprintf("the log is too large: plain lines of the %d owners that have most", len(c.owners))
}

// joinRuns sorts runs of one writer, and joins those that follow each other or overlap.
func joinRuns(runs []Run) []Run {
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last)) })
	joined := runs[:0]
	for _, r := range runs {
		if n := len(joined); n > 0 && r.First <= joined[n-1].Last+1 {
			if r.Last > joined[n-1].Last {
				joined[n-1].Last, joined[n-1].Code = r.Last, r.Code
			}
			continue
		}
		joined = append(joined, r)
	}
	return joined
}
