// Command checks runs suites of the project's checks, one step after the other. It
// prints each step with its duration and processor time, and ends in one line of counts.
//
//	checks [-fuzztime 10s] [-fuzzlong 60s] [-soaktime 3m] [-killtime 25s] suite...
//
// The function steps lists the suites. The Makefile starts the command in the root of the
// project, with the environment that the go command needs. The command exits with 1 when a
// check failed. With FAIL_ON_SKIP=1 a skipped check counts as failed, except the one that
// needs the database of known vulnerabilities.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var d durations
	flag.DurationVar(&d.fuzz, "fuzztime", 10*time.Second, "duration of each fuzz target")
	flag.DurationVar(&d.fuzzLong, "fuzzlong", time.Minute, "duration of each fuzz target that searches orders of events")
	flag.DurationVar(&d.soak, "soaktime", 3*time.Minute, "duration of the soak test, after up to a minute of warm-up")
	flag.DurationVar(&d.kill, "killtime", 25*time.Second, "how long replicas are killed, for each engine")
	flag.Parse()
	t := &tally{out: os.Stdout}
	for _, suite := range flag.Args() {
		for _, s := range steps(suite, d) {
			s.run(t)
		}
	}
	fmt.Println(t)
	if !t.ok(os.Getenv("FAIL_ON_SKIP") == "1") {
		os.Exit(1)
	}
}
