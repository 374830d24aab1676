// Command checks runs the project's checks one after the other. It says what it
// does while it does it and ends in one line of counts.
//
//	checks [-fuzztime 10s] [-soaktime 3m] suite...
//
// The suites are test, coverage, mutants, peers, load, fuzz, hostile and soak. The Makefile starts it, in the root
// of the project and with the environment that the go command needs. It fails
// when anything failed, and with FAIL_ON_SKIP=1 when anything was skipped but for
// the look for known vulnerabilities.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var long lengths
	flag.DurationVar(&long.fuzz, "fuzztime", 10*time.Second, "how long each fuzz target runs")
	flag.DurationVar(&long.soak, "soaktime", 3*time.Minute, "how long the soak goes on, after up to a minute to warm up")
	flag.Parse()
	t := &tally{out: os.Stdout}
	for _, suite := range flag.Args() {
		for _, s := range steps(suite, long) {
			s.run(t)
		}
	}
	fmt.Println(t)
	if !t.ok(os.Getenv("FAIL_ON_SKIP") == "1") {
		os.Exit(1)
	}
}
