// Command floor is the minimal Go server to which the others are compared. It gives
// the same answers with net/http, or a loop over lines, one pass over the JSON and
// precomputed answers. It has no checks, no schemas and no sessions.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/fondaco/fondaco/bench/internal/contest"
)

func main() {
	c := contest.Flags()
	flag.Parse()
	a := newAnswers(c)
	if c.Mode == "stdio" {
		a.serveLines(os.Stdin, os.Stdout)
		return
	}
	s := newServer(c, a)
	log.Fatal(contest.Serve(c, s, s.update))
}
