// Command floor is what the others are measured against: the least that a Go
// server can do and still give the same answers. It is net/http, or a loop over
// lines, with one pass over the JSON and answers that are cut to fit. It checks
// nothing: no Origin, no schema, no session. It is a limit, not a product.
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
