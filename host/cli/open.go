package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/fondaco/fondaco/host/browser"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/terminal"
)

var openEntry = commandInfo{
	name: "open", does: "open the console of the running host in the browser",
	about: `The console shows the servers, what waits for you, and what was called. It opens
by a link that works once, within ten minutes. --print prints the link instead of
opening a browser; whoever has it can enter, so it belongs in no log.`,
	example: "open",
	make:    func() command { return new(openCommand) },
}

type openCommand struct {
	output
	url   string
	print bool
}

func (v *openCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.url, "url", "", "the host with the endpoint `URL`, if several are running")
	f.BoolVar(&v.print, "print", false, "print the link")
}

func (v *openCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 0 {
		return usagef("found %q, want no operands", operands[0])
	}
	r, err := v.host(ctx, m)
	switch {
	case err != nil:
		return err
	case r == nil:
		return codedErrorf(exitUnreachable, "no host is running; %s up starts one", m.program())
	}
	link, err := r.client.ConsoleLink(ctx)
	if err != nil {
		return codedErrorf(exitUnreachable, "the console: %w", err)
	}
	switch {
	case v.json:
		return m.WriteDocument(terminal.Document{"url": link})
	case v.print:
		return m.WriteText(link)
	}
	if err := m.openLink(ctx, link); err != nil {
		m.Info("no browser was opened: %s; this link works once, within ten minutes:", terminal.Clean(err.Error()))
		return m.WriteText(link)
	}
	m.Info("the browser opens the console; %s open --print prints a link instead", m.program())
	return nil
}

// host returns the running host that the command is for, or nil.
func (v *openCommand) host(ctx context.Context, m *Main) (*foundHost, error) {
	if v.url == "" {
		return m.runningHost(ctx)
	}
	all, err := m.runningHosts(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if strings.TrimSuffix(r.status.Endpoint, "/mcp") == strings.TrimSuffix(v.url, "/mcp") {
			return r, nil
		}
	}
	return nil, nil
}

// openLink opens a link in the browser, see browser.Open.
func (m *Main) openLink(ctx context.Context, link string) error {
	dir := control.Dir(m.Getenv)
	if err := control.MakeDir(dir); err != nil {
		return err
	}
	return browser.Open(ctx, m.Getenv, dir, link)
}
