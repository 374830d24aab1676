package config

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// Finding is something to say about a file, and the place that it is about. As an
// error it is a fault, which keeps a server from being run.
type Finding struct {
	Path         string
	Line, Column int // from 1, in bytes
	// Pointer is the member that it is about, also in TOML.
	Pointer jsontext.Pointer
	// Text says what was found and what would be right, without a period. It holds
	// no values of variables, headers or arguments.
	Text string
}

func (f *Finding) Error() string {
	at := fmt.Sprintf("%s:%d:%d: ", f.Path, f.Line, f.Column)
	if f.Pointer != "" {
		at += string(f.Pointer) + ": "
	}
	return at + f.Text
}

// Join makes one error of faults, or nil of none.
func Join(faults []*Finding) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// A source is the content of a file, and what has been found in it.
type source struct {
	path    string
	content []byte
	lines   []int // where each line starts
	faults  []*Finding
	notes   []*Finding
}

func newSource(path string, content []byte) *source {
	s := &source{path: path, content: content, lines: []int{0}}
	for i, c := range content {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// at returns a finding at an offset of the content.
func (s *source) at(offset int, pointer jsontext.Pointer, format string, args ...any) *Finding {
	offset = min(max(offset, 0), len(s.content))
	line, found := slices.BinarySearch(s.lines, offset)
	if found {
		line++
	}
	return &Finding{
		Path: s.path, Line: line, Column: offset - s.lines[line-1] + 1,
		Pointer: pointer, Text: fmt.Sprintf(format, args...),
	}
}

// fault reports what keeps a server from being run.
func (s *source) fault(v value, format string, args ...any) {
	s.faults = append(s.faults, s.at(v.start, v.pointer, format, args...))
}

// note reports what the user may not expect.
func (s *source) note(v value, format string, args ...any) {
	s.notes = append(s.notes, s.at(v.start, v.pointer, format, args...))
}

// line is the number of the line that an offset is on.
func (s *source) line(offset int) int { return s.at(offset, "", "").Line }

// suggest returns a question that ends a sentence about a name that is unknown:
// the name that was probably meant, or nothing.
func suggest(found string, known []string) string {
	if best := host.Suggest(found, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// oneOf writes a choice of words.
func oneOf[S ~string](words []S) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", string(w))
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
