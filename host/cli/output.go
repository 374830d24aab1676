package cli

import "flag"

// output has the flags for the form of the output.
type output struct{ json, quiet bool }

func (o *output) declare(f *flag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "write JSON; docs/cli.md has its form")
	f.BoolVar(&o.quiet, "q", false, "print errors only")
}

func (o *output) isQuiet() bool { return o.quiet }
