// Conformance runs the official conformance suite against the server and the client in
// this directory. It is stricter than the suite: a warning, a scenario without a check,
// and a client that exits with an error are failures, too.
//
//	conformance [-install] [-repeat N]
//
// With -install it only installs the suite, which needs the network.
// make conformance starts it in the root of the project. Both programs, and the output of
// the suite, are in the directory of its own binary. All runs use the same server
// process. With FAIL_ON_SKIP=1 it fails if the suite cannot run.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

// home is the directory of the suite, relative to the root of the project.
const home = "conformance"

func main() {
	log.SetFlags(0)
	log.SetPrefix("conformance: ")
	repeat := flag.Int("repeat", 1, "how `often` to do it all, for what fails only sometimes")
	only := flag.Bool("install", false, "install the suite and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	g := &tally{out: os.Stdout}
	missing := missingTools()
	if *only {
		if missing != "" {
			log.Fatal(missing)
		}
		if _, err := install(ctx); err != nil {
			log.Fatal(err)
		}
		return
	}
	if missing != "" {
		g.skip(missing)
	} else if err := try(ctx, g, *repeat); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s%s\n", strings.Join(g.problems, ""), g) // once more: much was printed since
	if g.failed > 0 || g.skipped > 0 && os.Getenv("FAIL_ON_SKIP") == "1" {
		os.Exit(1)
	}
}

// try makes all runs the given number of times, and prints a table of their outcomes.
func try(ctx context.Context, g *tally, times int) (err error) {
	if g.expected, err = readExpected(filepath.Join(home, expectedFailures)); err != nil {
		return err
	}
	fmt.Fprintln(g.out, "==> install the conformance suite")
	s, err := install(ctx)
	if err != nil {
		return err
	}
	srv, err := startServer(s.program("server"), filepath.Join(s.results, "server.log"))
	if err != nil {
		return err
	}
	defer srv.kill()
	for round := range times {
		for _, r := range runs {
			fmt.Fprintf(g.out, "==> %s\n", r)
			dir := filepath.Join(s.results, strconv.Itoa(round+1), r.directory())
			outcomes, err := s.play(ctx, r, "http://"+srv.addr+"/mcp", dir)
			if err != nil {
				return fmt.Errorf("%s: %w", r, err)
			}
			g.take(r, outcomes)
		}
	}
	if err := srv.stop(); err != nil {
		g.fail("the end of the server", err.Error())
	}
	g.close()
	if g.failed > 0 {
		fmt.Fprintf(g.out, "\nmore is in %s\n", s.results)
	}
	return nil
}
