package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"

	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp"
)

// Report is the result of Verify.
type Report struct {
	// Files, Lines and Writers are how many were read. Lines are authentic ones.
	Files   int   `json:"files"`
	Lines   int64 `json:"lines"`
	Writers int   `json:"writers"`
	// Removed is how many lines were removed by the host itself, and Summed how many
	// decisions lines stand for that count several.
	Removed int64 `json:"removed"`
	Summed  int64 `json:"summed"`
	// Incomplete is how many lines were not written completely, for instance because the
	// disk was full. Their writers have written them again.
	Incomplete int `json:"incomplete"`
	// Open is how many writers have not closed the log: they run, or were killed.
	Open int `json:"open"`
	// Problems are the first of each writer, and those that belong to no writer.
	Problems []Problem `json:"problems"`
}

// Problem is one place at which a log is not as it was written.
type Problem struct {
	Kind   ProblemKind `json:"kind"`
	Writer string      `json:"writer,omitzero"`
	// File and Line, from 1, are where it was found. They are empty for lines that are
	// missing at the end.
	File string `json:"file,omitzero"`
	Line int    `json:"line,omitzero"`
	// First and Last are the numbers of the writer's lines.
	First int64  `json:"first,omitzero"`
	Last  int64  `json:"last,omitzero"`
	Text  string `json:"text"`
}

// ProblemKind is what is wrong.
type ProblemKind string

// The kinds of problems.
const (
	ProblemChanged   ProblemKind = "changed"   // a line is not as it was written
	ProblemMissing   ProblemKind = "missing"   // lines between others are missing
	ProblemCut       ProblemKind = "cut"       // lines at the end are missing
	ProblemReordered ProblemKind = "reordered" // a line is where another one was, or twice
	ProblemForeign   ProblemKind = "foreign"   // text that is no line of the host
	ProblemIndex     ProblemKind = "index"     // the index of writers is damaged or lacks a writer
)

// OK reports whether the log is as it was written.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// maxProblems limits the problems of a report.
const maxProblems = 1000

// Verify reads the log at a path and checks the chains of all its writers. It finds lines
// that were changed, removed, added, moved or repeated by somebody without the key, also at
// the end, and files that were removed. With Options.Counts of the log it finds that all of
// them were removed, or replaced by earlier copies. It does not find that of lines of the last
// second, nor if the counts were removed or replaced as well: only lines that were sent elsewhere
// show that.
func Verify(ctx context.Context, path string, key []byte, store mcp.Store) (*Report, error) {
	unlock, err := userfile.Lock(ctx, lockPath(path))
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	// First the counts and the index, so that lines that are written meanwhile are not missing.
	counted, countErr := readCounts(ctx, store)
	content, err := readOwn(indexPath(path), maxIndex)
	files, openErr := openAll(path, key)
	if openErr == nil {
		openErr = limitFiles(files) // later lines may be of processes that the index does not have yet
	}
	unlock()
	defer closeFiles(files)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = cmp.Or(err, openErr); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	v := &verification{key: key, index: readIndex(key, content), counts: counted, hasCounts: store != nil && countErr == nil, removed: make(map[string][]Run), chains: make(map[string]*chain)}
	v.report.Files, v.report.Problems = len(files), []Problem{}
	if countErr != nil {
		v.add(Problem{Kind: ProblemIndex, Text: fmt.Sprintf("the numbers of lines cannot be read: %v", countErr)})
	}
	if len(content) == 0 && !slices.ContainsFunc(files, func(f *logFile) bool { return f.limit > 0 }) {
		if counted.total() > 0 { // a process that was killed at its start has written none
			v.add(Problem{Kind: ProblemMissing, Text: fmt.Sprintf("the log is missing; %d lines or more were written by %d processes", counted.total(), len(counted))})
		}
		return &v.report, nil
	}
	if err = v.findRemoved(ctx, files); err == nil {
		err = v.checkLines(ctx, files)
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	v.checkIndex()
	return &v.report, nil
}

func readOwn(path string, maxBytes int64) ([]byte, error) {
	f, err := openOwn(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes))
}

// verification is one run of Verify.
type verification struct {
	key       []byte
	index     *index
	counts    counts
	hasCounts bool             // there should be counts, if the index says so
	removed   map[string][]Run // by writer, in order
	chains    map[string]*chain
	report    Report
}

// chain is what is known of the lines of a writer.
type chain struct {
	last int64  // number of the last line
	code string // of the last line
	bad  bool   // the first problem was reported
}

// add reports a problem, if it is the first of its writer.
func (v *verification) add(p Problem) {
	if p.Writer != "" {
		c := v.chain(p.Writer)
		if c.bad {
			return
		}
		c.bad = true
	}
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, p)
	}
}

func (v *verification) chain(writer string) *chain {
	c := v.chains[writer]
	if c == nil {
		c = new(chain)
		v.chains[writer] = c
	}
	return c
}

// findRemoved reads which lines the host has removed.
func (v *verification) findRemoved(ctx context.Context, files []*logFile) error {
	for _, f := range files {
		for line, err := range f.lines() {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			r, _, err := decodeLine(v.key, line.text)
			if err != nil || r.Action != ActionRemove {
				continue
			}
			for _, run := range r.Removed {
				v.removed[run.Writer] = append(v.removed[run.Writer], run)
			}
		}
	}
	for writer, runs := range v.removed {
		v.removed[writer] = joinRuns(runs)
		for _, run := range v.removed[writer] {
			v.report.Removed += run.Last - run.First + 1
		}
	}
	return nil
}

// checkLines checks all lines in their order.
func (v *verification) checkLines(ctx context.Context, files []*logFile) error {
	for _, f := range files {
		for line, err := range f.lines() {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			if len(line.text) == 0 || line.number == 1 && isFileHead(v.key, line.text) {
				continue
			}
			r, partial, err := decodeLine(v.key, line.text)
			if partial {
				v.report.Incomplete++
			}
			if err != nil {
				v.checkDamaged(f, line, r, err)
				continue
			}
			v.report.Lines++
			v.report.Summed += r.Count
			v.checkRecord(f, line.number, &r)
		}
	}
	return nil
}

// claimedWriter matches the writer that a line names which is no record.
var claimedWriter = regexp.MustCompile(`"writer":"(\w{1,26})"`)

// checkDamaged reports a line that is not authentic.
func (v *verification) checkDamaged(f *logFile, line textLine, r Record, why error) {
	p := Problem{Kind: ProblemChanged, Writer: r.Writer, File: f.path, Line: line.number, First: r.Sequence, Last: r.Sequence, Text: "the line " + why.Error()}
	if _, known := v.index.writers[r.Writer]; r.Writer != "" && !known {
		p.Writer = "" // anybody can invent one
	}
	if errors.Is(why, errNoRecord) {
		if incomplete(line.text) {
			v.report.Incomplete++ // the writer's next line, or its slot, shows whether it was written again
			return
		}
		p.First, p.Last = 0, 0
		claimed := ""
		if m := claimedWriter.FindSubmatch(line.text); m != nil {
			claimed = string(m[1])
		}
		if _, known := v.index.writers[claimed]; known {
			p.Writer = claimed
		} else {
			p.Kind = ProblemForeign
		}
	}
	v.add(p)
}

// incomplete reports whether a line is the beginning of a record.
func incomplete(line []byte) bool {
	n := min(len(line), len(recordStart))
	return string(line[:n]) == string(recordStart[:n]) && line[len(line)-1] != '}'
}

// checkRecord checks that a record follows the last one of its writer.
func (v *verification) checkRecord(f *logFile, number int, r *Record) {
	c := v.chain(r.Writer)
	p := Problem{Writer: r.Writer, File: f.path, Line: number, First: r.Sequence, Last: r.Sequence}
	switch last, lastCode := v.skipRemoved(r.Writer, *c, r.Sequence-1); {
	case r.Sequence <= c.last:
		p.Kind, p.Text = ProblemReordered, fmt.Sprintf("line %d of the writer follows line %d", r.Sequence, c.last)
		v.add(p)
		return
	case last != r.Sequence-1:
		p.Kind, p.First, p.Last = ProblemMissing, last+1, r.Sequence-1
		p.Text = fmt.Sprintf("lines %d to %d of the writer are missing before it", p.First, p.Last)
		v.add(p)
	case lastCode != r.Previous && lastCode != codeUnknown:
		p.Kind, p.Text = ProblemChanged, fmt.Sprintf("line %d of the writer follows another line than that with which it was written", r.Sequence)
		v.add(p)
	}
	c.last, c.code = r.Sequence, r.Code
}

// codeUnknown is the code of a line that the host was removing with later ones, which are still
// there, when it was killed.
const codeUnknown = "unknown"

// skipRemoved returns the last line of a writer before a number, counting those that the
// host has removed, and its code.
func (v *verification) skipRemoved(writer string, c chain, before int64) (last int64, lastCode string) {
	last, lastCode = c.last, c.code
	for _, run := range v.removed[writer] {
		switch {
		case last >= before || run.First > last+1 || run.Last <= last:
		case run.Last > before:
			return before, codeUnknown
		default:
			last, lastCode = run.Last, run.Code
		}
	}
	return last, lastCode
}

// checkIndex checks the ends of all chains.
func (v *verification) checkIndex() {
	x := v.index
	switch {
	case x.headErr != nil:
		v.add(Problem{Kind: ProblemIndex, Text: "the index of writers is missing, or its first slot " + errCode.Error()})
	case x.head.Damaged:
		v.add(Problem{Kind: ProblemIndex, Text: "the index of writers, or the numbers of lines, were missing or damaged when a writer was added later"})
	case x.expected() != x.found():
		v.add(Problem{Kind: ProblemIndex, Text: fmt.Sprintf("the index has %d writers, but there were %d", x.found(), x.expected())})
	}
	if x.damaged > 0 {
		v.add(Problem{Kind: ProblemIndex, Text: fmt.Sprintf("slots of the index that were changed: %d", x.damaged)})
	}
	for _, writer := range slices.Sorted(maps.Keys(x.writers)) {
		v.checkEnd(x.writers[writer])
	}
	v.checkCounts()
	for _, writer := range slices.Sorted(maps.Keys(v.chains)) {
		if v.chains[writer].last > 0 {
			v.report.Writers++
		}
		if _, known := x.writers[writer]; !known {
			v.add(Problem{Kind: ProblemIndex, Writer: writer, Text: "the writer is not in the index, so lines at its end may be missing"})
		}
	}
}

// checkCounts checks that all lines are there that were counted. There may be more.
func (v *verification) checkCounts() {
	if x := v.index; x.headErr == nil && x.head.Counted && v.counts == nil && v.hasCounts {
		v.add(Problem{Kind: ProblemIndex, Text: "the numbers of lines are missing"})
	}
	for _, writer := range slices.Sorted(maps.Keys(v.counts)) {
		var c chain
		if known := v.chains[writer]; known != nil {
			c = *known
		}
		counted := v.counts[writer]
		if last, _ := v.skipRemoved(writer, c, math.MaxInt64); last < counted {
			v.add(Problem{Kind: ProblemCut, Writer: writer, First: last + 1, Last: counted, Text: fmt.Sprintf("lines %d to %d of the writer, which were counted, are missing", last+1, counted)})
		}
	}
}

// checkEnd checks that the last line of a writer is there.
func (v *verification) checkEnd(w writerState) {
	c := v.chain(w.Writer)
	if !w.Closed {
		v.report.Open++
	}
	last, lastCode := v.skipRemoved(w.Writer, *c, w.Sequence)
	switch {
	case last < w.Sequence:
		v.add(Problem{Kind: ProblemCut, Writer: w.Writer, First: last + 1, Last: w.Sequence, Text: fmt.Sprintf("lines %d to %d, the last of the writer, are missing", last+1, w.Sequence)})
	case last == w.Sequence && lastCode != w.Last && lastCode != codeUnknown:
		v.add(Problem{Kind: ProblemChanged, Writer: w.Writer, First: last, Last: last, Text: "the last line of the writer is not the one in the index"})
	case last > w.Sequence && w.Closed:
		v.add(Problem{Kind: ProblemChanged, Writer: w.Writer, First: w.Sequence + 1, Last: last, Text: "the writer has lines after the one with which it closed the log"})
	}
}
