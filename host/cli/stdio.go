package cli

import (
	"context"
	"flag"

	"github.com/fondaco/fondaco/host"
)

var stdioEntry = commandInfo{
	name: "stdio", does: "run the host over standard input and output",
	about: `It is for clients that start their servers. Messages go to standard error, and
nothing is asked: a program must be approved before, by "fondaco approve" or
with --yes. Without --config it runs the same servers as "fondaco up".`,
	example: "stdio --config mcp.json",
	make:    func() command { return new(stdioCommand) },
}

type stdioCommand struct {
	hostProcess
	quiet bool
}

func (v *stdioCommand) declare(f *flag.FlagSet) {
	v.hostProcess.declare(f)
	f.BoolVar(&v.quiet, "q", false, "print errors only")
}

func (v *stdioCommand) isQuiet() bool { return v.quiet }

func (v *stdioCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	m.Interactive = false // standard input belongs to the client
	news := &summary{to: m, lastLines: make(map[string]string)}
	if err := v.open(m, nil, func(s host.Status) {
		if s.State != host.Starting && !m.messages.quiet {
			news.onStatus(s)
		}
	}); err != nil {
		return err
	}
	news.config = v.config
	defer v.startWatching(ctx)()
	defer v.startUpstreams(ctx, func() {})()
	return v.gateway.Server().Run(ctx)
}
