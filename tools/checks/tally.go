package main

import (
	"bufio"
	"encoding/json/v2"
	"fmt"
	"io"
	"strings"
)

// A tally counts checks by outcome and tells about those that did not pass.
type tally struct {
	passed, failed, skipped int
	out                     io.Writer
}

// String is the line that a run ends in.
func (t *tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

func (t *tally) fail(name, output string) {
	t.failed++
	fmt.Fprintf(t.out, "    FAIL %s\n%s", name, indent(output))
}

func (t *tally) skip(name, output string) {
	t.skipped++
	fmt.Fprintf(t.out, "    SKIP %s\n%s", name, indent(output))
}

// An event is one line of go test -json. See go doc test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// subject is the test or the package that the event is about.
func (e event) subject() string { return strings.TrimSpace(e.Package + " " + e.Test) }

// read counts the tests of a go test -json stream. A package that fails without
// a failed test (it did not build, it leaked, it crashed) counts as one failure.
// Lines that are no events are handed on.
func (t *tally) read(stream io.Reader) {
	output := make(map[string]string) // of each subject until its end
	blamed := make(map[string]bool)   // packages with a failed test
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprint(t.out, indent(line))
		} else {
			t.count(e, output, blamed)
		}
		if err != nil {
			return
		}
	}
}

func (t *tally) count(e event, output map[string]string, blamed map[string]bool) {
	subject := e.subject()
	switch {
	case e.Action == "output":
		output[subject] += e.Output
		return
	case e.Action == "build-output":
		fmt.Fprint(t.out, indent(e.Output))
		return
	case e.Action == "pass" && e.Test != "":
		t.passed++
	case e.Action == "pass":
		fmt.Fprintf(t.out, "    ok %s %.1fs\n", subject, e.Elapsed)
	case e.Action == "skip" && e.Test != "":
		t.skip(subject, output[subject])
	case e.Action == "fail" && (e.Test != "" || !blamed[e.Package]):
		t.fail(subject, output[subject])
		blamed[e.Package] = true
	default:
		return
	}
	delete(output, subject)
}

func indent(text string) string {
	if text == "" {
		return ""
	}
	text = strings.TrimSuffix(text, "\n")
	return "      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"
}
