// Command checks runs suites of the project's checks, one step after the other. It
// prints each step with its duration and processor time, and ends in a report of what did
// not pass and one line of counts. The report is also the file bin/report.txt.
//
//	checks [-fuzztime 10s] [-fuzzlong 60s] [-soaktime 3m] [-killtime 25s] [-repeat 1] suite...
//	checks slowest
//
// The second form names the tests that took longest in the last runs. The function steps lists
// the suites. The Makefile starts the command in the root of the project, with the environment
// that the go command needs. The command exits with 1 when a check failed. With FAIL_ON_SKIP=1 a
// skipped check counts as failed, except the one that needs the database of known
// vulnerabilities, and no result comes from a cache.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const reportFile = "bin/report.txt"

func main() {
	var d durations
	flag.DurationVar(&d.fuzz, "fuzztime", 10*time.Second, "duration of each fuzz target")
	flag.DurationVar(&d.fuzzLong, "fuzzlong", time.Minute, "duration of each fuzz target that searches orders of events")
	flag.DurationVar(&d.soak, "soaktime", 3*time.Minute, "duration of the soak test, after up to a minute of warm-up")
	flag.DurationVar(&d.kill, "killtime", 25*time.Second, "how long replicas are killed, for each engine")
	flag.IntVar(&d.repeat, "repeat", 1, "how often the conformance suite runs")
	flag.Parse()
	root, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	runner[0], timings = filepath.Join(root, runner[0]), filepath.Join(root, "bin", "timing")
	t := &tally{out: os.Stdout}
	if flag.Arg(0) == "slowest" {
		if err := printSlowest(os.Stdout, timings); err != nil {
			fmt.Fprintln(os.Stderr, "checks:", err)
			os.Exit(1)
		}
		return
	}
	for _, suite := range flag.Args() {
		for _, s := range steps(suite, d) {
			s.run(t)
		}
	}
	text := report(t.problems)
	if err := os.WriteFile(reportFile, []byte(text), 0o644); err != nil {
		t.fail(problem{subject: "report", output: err.Error()})
	}
	for _, line := range entries(quarantine) {
		fmt.Println("not run, because of the quarantine:", line)
	}
	for _, line := range t.slow {
		fmt.Println("over its budget:", line)
	}
	fmt.Printf("%s%s\n", text, t)
	if !t.ok(strict()) {
		os.Exit(1)
	}
}

// strict reports whether skipped checks count as failed and no result comes from a cache.
func strict() bool { return os.Getenv("FAIL_ON_SKIP") == "1" }
