package main

import (
	"fmt"
	"strings"
)

// A problem is a check that did not pass, or passed only when it was repeated.
type problem struct {
	kind    string // FAIL, SKIP or FLAKY
	step    string
	subject string // the test with its package, or the step itself
	alone   string // the command that runs it alone; may be empty
	output  string
}

// reportedLines is how many lines of the output of a check the report has. They are the last ones.
const reportedLines = 30

// report describes the problems: each has a line that begins with its kind, the step, the command
// that runs the check alone, and the end of its output. Without a problem it is empty.
func report(problems []problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s %s\n  step: %s\n", p.kind, p.subject, p.step)
		if p.alone != "" {
			fmt.Fprintf(&b, "  alone: %s\n", p.alone)
		}
		b.WriteString(indent(lastLines(p.output, reportedLines)))
	}
	return b.String()
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = append([]string{fmt.Sprintf("... %d lines before", len(lines)-n)}, lines[len(lines)-n:]...)
	}
	return strings.Join(lines, "\n")
}
