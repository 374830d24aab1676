// Command measure compares MCP servers with one another and with a floor, and writes
// the page that says how they compare.
//
//	measure run  [-bin dir] [-typescript dir] [-rounds n] [-quick] [-gateway] [-gobench file] results
//	measure page [-docs dir] results
//	measure age  [-docs dir] [-commits n]
//	measure load
//
// The first takes about an hour on a quiet machine of two cores, the second no
// time. The third fails if the page has figures of older code. The fourth is the client
// of one measurement, in a process of its own: it reads load.Params and writes a
// load.Outcome, as JSON.
package main

import (
	"encoding/json/v2"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/fondaco/fondaco/bench/internal/load"
	"github.com/fondaco/fondaco/bench/internal/report"
	"github.com/fondaco/fondaco/bench/internal/trial"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("measure: ")
	if len(os.Args) < 2 {
		log.Fatal("no verb: want run, page, age or load")
	}
	if err := do(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func do(verb string, args []string) error {
	switch verb {
	case "run":
		return run(args)
	case "page":
		return page(args)
	case "age":
		return age(args)
	case "load":
		return loadOnce()
	}
	return fmt.Errorf("verb %q: want run, page, age or load", verb)
}

func run(args []string) error {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	bin := flags.String("bin", "bin/bench", "where the servers are")
	typescript := flags.String("typescript", "", "where the server of the TypeScript SDK is; without it that SDK takes no part")
	rounds := flags.Int("rounds", 5, "of each cell")
	quick := flags.Bool("quick", false, "measure too briefly for figures to rely on")
	gateway := flags.Bool("gateway", false, "measure nothing but the gateway")
	goBench := flags.String("gobench", "", "what go test -bench printed, to be kept with the results")
	flags.Parse(args)
	t := &trial.Trial{
		Contestants: trial.Contestants(*bin, *typescript),
		Host:        filepath.Join(*bin, "fondaco"), Proxy: filepath.Join(*bin, "proxy"),
		Rounds: *rounds, Quick: *quick, GatewayOnly: *gateway, Log: os.Stderr,
	}
	var printed []byte
	if *goBench != "" {
		var err error
		if printed, err = os.ReadFile(*goBench); err != nil {
			return err
		}
	}
	r := t.Run()
	r.GoBench = string(printed)
	return r.Write(flags.Arg(0))
}

func page(args []string) error {
	flags := flag.NewFlagSet("page", flag.ExitOnError)
	docs := flags.String("docs", "docs", "where performance.md is")
	flags.Parse(args)
	r, err := trial.Read(flags.Arg(0))
	if err != nil {
		return err
	}
	return report.Write(*docs, r)
}

func loadOnce() error {
	var p load.Params
	if err := json.UnmarshalRead(os.Stdin, &p); err != nil {
		return err
	}
	o, err := load.Run(p)
	if err != nil {
		return err
	}
	return json.MarshalWrite(os.Stdout, o)
}
