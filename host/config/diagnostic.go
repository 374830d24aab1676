package config

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// Diagnostic is an error or warning about a position in a file.
type Diagnostic struct {
	Path         string
	Line, Column int // from 1, in bytes
	// Pointer is the JSON pointer of the member, also for TOML.
	Pointer jsontext.Pointer
	// Text says what was found and what would be right, without a period. It contains no
	// values of variables, headers or arguments.
	Text string
}

func (f *Diagnostic) Error() string {
	at := fmt.Sprintf("%s:%d:%d: ", f.Path, f.Line, f.Column)
	if f.Pointer != "" {
		at += string(f.Pointer) + ": "
	}
	return at + f.Text
}

// Join joins diagnostics into one error, nil if there are none.
func Join(faults []*Diagnostic) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// A source is the content of a file with its errors and warnings.
type source struct {
	path     string
	content  []byte
	lines    []int // offset of the start of each line
	errors   []*Diagnostic
	warnings []*Diagnostic
	client   *Client // whose file it is, or nil
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

// diagnostic returns a diagnostic for an offset of the content.
func (s *source) diagnostic(offset int, pointer jsontext.Pointer, format string, args ...any) *Diagnostic {
	offset = min(max(offset, 0), len(s.content))
	line, found := slices.BinarySearch(s.lines, offset)
	if found {
		line++
	}
	return &Diagnostic{
		Path: s.path, Line: line, Column: offset - s.lines[line-1] + 1,
		Pointer: pointer, Text: fmt.Sprintf(format, args...),
	}
}

// addError reports why a server cannot be run.
func (s *source) addError(v value, format string, args ...any) {
	s.errors = append(s.errors, s.diagnostic(v.start, v.pointer, format, args...))
}

// addWarning reports something without effect or with an unexpected one.
func (s *source) addWarning(v value, format string, args ...any) {
	s.warnings = append(s.warnings, s.diagnostic(v.start, v.pointer, format, args...))
}

// line is the number of the line of an offset.
func (s *source) line(offset int) int { return s.diagnostic(offset, "", "").Line }

// suggest returns what follows an unknown name in a message: a similar known name in
// parentheses, or nothing.
func suggest(found string, known []string) string {
	if best := host.Suggest(found, known); best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	return ""
}

// oneOf writes a list of alternatives.
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
