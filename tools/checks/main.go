// Command checks runs the project's checks one after the other. It says what it
// does while it does it and ends in one line of counts.
//
//	checks [-fuzztime 10s] suite...
//
// The suites are test, coverage, mutants, peers, load and fuzz. The Makefile starts it, in the root
// of the project and with the environment that the go command needs. It fails
// when anything failed, and with FAIL_ON_SKIP=1 when anything was skipped.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	fuzzTime := flag.Duration("fuzztime", 10*time.Second, "how long each fuzz target runs")
	flag.Parse()
	t := &tally{out: os.Stdout}
	for _, suite := range flag.Args() {
		for _, s := range steps(suite, *fuzzTime) {
			s.run(t)
		}
	}
	fmt.Println(t)
	if t.failed > 0 || t.skipped > 0 && os.Getenv("FAIL_ON_SKIP") == "1" {
		os.Exit(1)
	}
}
