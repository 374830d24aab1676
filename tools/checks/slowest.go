package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json/v2"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// timings is a directory with a file for each step that has run tests: the ends of its tests and
// packages. Without it they are not kept.
var timings string

// slowestListed is how many packages and how many tests printSlowest prints.
const slowestListed = 20

// printSlowest prints the packages and the tests that took longest in the last run of each step. The
// time of a test that runs in parallel with others includes the time in which they had the
// processors.
func printSlowest(out io.Writer, dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	var packages, tests []event
	for _, name := range names {
		text, err := os.Open(name)
		if err != nil {
			return err
		}
		for lines := bufio.NewScanner(text); lines.Scan(); {
			var e event
			switch err := json.Unmarshal(lines.Bytes(), &e); {
			case err != nil:
			case e.Test == "":
				packages = append(packages, e)
			default:
				tests = append(tests, e)
			}
		}
		text.Close()
	}
	for _, list := range [][]event{packages, tests} {
		slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
		for _, e := range list[:min(len(list), slowestListed)] {
			fmt.Fprintf(out, "%7.1fs %s%s\n", e.Elapsed, e.subject(), whySlow(slowTests, e))
		}
		fmt.Fprintln(out)
	}
	return nil
}

// slowTests names tests of .ci/run that may take more than slowTest, one a line: the test, a colon,
// the reason. Lines that begin with # are comments.
//
//go:embed slowtests.txt
var slowTests string

// slowTest is the number of seconds from which on a test needs a reason.
const slowTest = 10

// whySlow returns the reason why a test may be slow, or that there is none.
func whySlow(text string, e event) string {
	if e.Test == "" || e.Elapsed < slowTest {
		return ""
	}
	for _, line := range entries(text) {
		if name, reason, ok := strings.Cut(line, ": "); ok && name == strings.Split(e.Test, "/")[0] {
			return " (" + reason + ")"
		}
	}
	return " (slowtests.txt has no reason)"
}
