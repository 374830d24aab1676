package main

import (
	"bufio"
	"encoding/json/v2"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A tally counts checks by outcome and prints those that did not pass.
type tally struct {
	counts
	permitted int           // of the skipped checks, those that may be skipped in .ci/run
	claims    []string      // of tests that passed; see package internal/claim
	cpu       time.Duration // user and system time of the commands that ended
	out       io.Writer
}

type counts struct{ passed, failed, skipped int }

// String returns the last line of a run.
func (t *tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// ok reports whether no check failed and, with failOnSkip, whether no check was skipped
// that may not be.
func (t *tally) ok(failOnSkip bool) bool {
	return t.failed == 0 && (!failOnSkip || t.skipped == t.permitted)
}

// spend adds the processor time of a command and its children. A command that did not
// start has no state.
func (t *tally) spend(state *os.ProcessState) {
	if state != nil {
		t.cpu += state.UserTime() + state.SystemTime()
	}
}

func (t *tally) fail(name, output string) {
	t.failed++
	fmt.Fprintf(t.out, "    FAIL %s\n%s", name, indent(output))
}

func (t *tally) skip(name, output string) {
	t.skipped++
	fmt.Fprintf(t.out, "    SKIP %s\n%s", name, indent(output))
}

// skipPermitted counts a skip that .ci/run permits.
func (t *tally) skipPermitted(name, output string) {
	t.skipped++
	t.permitted++
	fmt.Fprintf(t.out, "    SKIP, which is permitted: %s\n%s", name, indent(output))
}

// An event is one line of go test -json. See go doc test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
	Key     string // of an attribute
	Value   string
}

// subject names the test or the package of the event.
func (e event) subject() string { return strings.TrimSpace(e.Package + " " + e.Test) }

// A stream is the state of reading the output of go test -json.
type stream struct {
	output map[string]string   // of each subject until its end
	claims map[string][]string // of each subject until its end
	failed map[string]bool     // packages with a failed test
}

// read counts the tests of a go test -json stream. A package that fails without
// a failed test (it did not build, it leaked, it crashed) counts as one failure.
// Lines that are not events are printed.
func (t *tally) read(r io.Reader) {
	s := stream{make(map[string]string), make(map[string][]string), make(map[string]bool)}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprint(t.out, indent(line))
		} else {
			t.count(e, s)
		}
		if err != nil {
			return
		}
	}
}

func (t *tally) count(e event, s stream) {
	subject := e.subject()
	switch {
	case e.Action == "output":
		s.output[subject] += e.Output
		return
	case e.Action == "attr" && e.Key == "shows":
		s.claims[subject] = append(s.claims[subject], strings.Join([]string{e.Value, e.Package, e.Test}, "\t"))
		return
	case e.Action == "attr" && e.Key == "verdict":
		fmt.Fprint(t.out, indent(e.Value))
		return
	case e.Action == "build-output":
		fmt.Fprint(t.out, indent(e.Output))
		return
	case e.Action == "pass" && e.Test != "":
		t.passed++
		t.claims = append(t.claims, s.claims[subject]...)
	case e.Action == "pass":
		fmt.Fprintf(t.out, "    ok %s %.1fs\n", subject, e.Elapsed)
	case e.Action == "skip" && e.Test != "":
		t.skip(subject, s.output[subject])
	case e.Action == "fail" && (e.Test != "" || !s.failed[e.Package]):
		t.fail(subject, s.output[subject])
		s.failed[e.Package] = true
	default:
		return
	}
	delete(s.output, subject)
	delete(s.claims, subject)
}

func indent(text string) string {
	if text == "" {
		return ""
	}
	text = strings.TrimSuffix(text, "\n")
	return "      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"
}
