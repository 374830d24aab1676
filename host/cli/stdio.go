package cli

import (
	"context"
	"flag"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
)

var stdioEntry = commandInfo{
	name: "stdio", does: "serve a client over standard input and output",
	about: `It is for clients that start their servers. If a host of the same configuration
is running, the client is connected to that host over its control socket.
Otherwise a host runs in this process, as long as the client. Messages go to
standard error, and nothing is asked: a program must be approved before, by
"fondaco approve" or with --yes. Without --config it serves the same servers as
"fondaco up".`,
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
	v.findConfig(m)
	switch running, err := m.hostOf(ctx, &v.hostProcess); {
	case err != nil:
		m.Message("%v", err) // a host of another user is not used
	case running != nil:
		return m.bridge(ctx, running)
	}
	news := &summary{to: m, lastLines: make(map[string]string)}
	if err := v.open(m, nil, func(s host.Status) {
		if s.State != host.Starting && !m.Quiet {
			news.onStatus(s)
		}
	}); err != nil {
		return err
	}
	news.config = v.config
	var err error
	if v.revoked, err = v.openRevocations(ctx, false); err != nil {
		return err
	}
	defer v.revoked.StartWatching(ctx)()
	v.serveControl(0, "", nil) // for the answers to questions
	defer v.startQuestions(ctx, control.Path(control.Dir(m.Getenv), 0))()
	defer v.startWatching(ctx)()
	defer v.startUpstreams(ctx, func() {})()
	return v.gateway.Server().Run(ctx)
}
