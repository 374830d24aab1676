package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/terminal"
)

var serversEntry = commandInfo{
	name: "servers", operands: "[NAME]", does: "list the servers, or show one in detail",
	about: `For one server it shows why it is not ready, the last lines of its standard
error, features that clients do not see, and tools that need approval.`,
	example: "servers",
	make:    func() command { return new(serversCommand) },
}

type serversCommand struct{ serverFlags }

func (v *serversCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 1 {
		return usagef("found %d names, want one or none", len(operands))
	}
	p, err := v.connect(ctx, m, strings.Join(operands, ""), nil)
	if err != nil {
		return err
	}
	all, err := p.servers(ctx, v)
	if err != nil {
		return err
	}
	if len(operands) == 1 {
		i := slices.IndexFunc(all, func(s host.Status) bool { return s.Key == operands[0] })
		if i < 0 {
			return unknownServer(m, operands[0], all)
		}
		return v.one(p, m, all[i])
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"servers": all})
	}
	return m.writeServers(all, p.config)
}

// servers returns the upstreams of a host, or the server itself in the same form.
func (p *serverConn) servers(ctx context.Context, v *serversCommand) ([]host.Status, error) {
	if p.statuses != nil {
		return p.statuses(ctx)
	}
	s := host.Status{Key: p.Server().Name, Transport: "over HTTP", State: host.Ready, Revision: p.Revision()}
	if v.command != nil {
		s.Transport = "over stdio"
	}
	var err error
	if s.Tools, err = count(optionalList(p.Tools(ctx))); err != nil {
		return nil, err
	}
	if s.Resources, err = count(optionalList(p.Resources(ctx))); err != nil {
		return nil, err
	}
	if s.Templates, err = count(optionalList(p.Templates(ctx))); err != nil {
		return nil, err
	}
	s.Prompts, err = count(optionalList(p.Prompts(ctx)))
	return []host.Status{s}, err
}

func count[T any](items []T, err error) (int, error) { return len(items), err }

func (m *Main) writeServers(all []host.Status, config string) error {
	t := terminal.Table{Head: []string{"SERVER", "STATE", "REVISION", "TOOLS", "RESOURCES", "PROMPTS", "PROCESSES", "REACHED", "NOTE"}, Style: styleOfState}
	for _, s := range all {
		t.Rows = append(t.Rows, []string{
			s.Key, string(s.State), s.Revision.String(), strconv.Itoa(s.Tools), strconv.Itoa(s.Resources + s.Templates), strconv.Itoa(s.Prompts), processCount(s), s.Transport, m.serverNote(s, config),
		})
	}
	return m.WriteTable(t)
}

// processCount returns the number of processes of a program, or "-" for another server.
func processCount(s host.Status) string {
	if s.Processes == 0 {
		return "-"
	}
	return strconv.Itoa(s.Processes)
}

// serverNote describes the state of a server on one line, with the command if it waits for the user.
func (m *Main) serverNote(s host.Status, config string) string {
	switch {
	case s.WaitsForCredentials():
		return m.credentialsCommand(&s, config)
	case s.State == host.NeedsApproval:
		return m.approveCommand(s.Key, config)
	case s.State == console.Disabled:
		return "switched off in the console"
	case s.Reason != "":
		return terminal.Brief(s.Reason)
	case s.SessionsLost > 0:
		return sessionNote(s)
	case s.WaitingCount > 0:
		return fmt.Sprintf("definitions that wait for approval: %d", s.WaitingCount)
	case len(s.Omitted) > 0:
		return fmt.Sprintf("features left out: %d", len(s.Omitted))
	}
	return ""
}

// shownWithheld limits the variables that a line names.
const shownWithheld = 3

// withheldNote names variables that a program did not get which could not be started.
func withheldNote(s host.Status) string {
	n := len(s.Withheld)
	if n == 0 {
		return ""
	}
	note := "; variables that it did not get: " + strings.Join(s.Withheld[:min(n, shownWithheld)], ", ")
	if n > shownWithheld {
		note += fmt.Sprintf(" and %d more", n-shownWithheld)
	}
	return note
}

// sessionNote says how often the host opened a new session of a server.
func sessionNote(s host.Status) string {
	return fmt.Sprintf("session lost and opened again: %d times, last at %s", s.SessionsLost, s.SessionLost.Local().Format(time.DateTime))
}

// describeWaiting names the definitions that wait, each with its findings.
func describeWaiting(s host.Status) (lines []string) {
	for _, w := range s.Waiting {
		lines = append(lines, fmt.Sprintf("%s %s", w.Change, approvalscreen.DescribeDefinition(w)))
		for _, f := range w.Findings {
			lines = append(lines, "  WARNING: "+f)
		}
	}
	if more := s.WaitingCount - len(s.Waiting); more > 0 {
		lines = append(lines, fmt.Sprintf("%d more", more))
	}
	return lines
}

// stateColumn is the column of the state.
const stateColumn = 1

func styleOfState(column int, cell string) terminal.Style {
	if column != stateColumn {
		return terminal.Plain
	}
	switch host.State(cell) {
	case host.Ready:
		return terminal.Green
	case host.Failing, host.Failed, host.Suspended:
		return terminal.Red
	case host.Degraded, host.NeedsApproval, host.NeedsSignIn:
		return terminal.Yellow
	}
	return terminal.Plain
}

// one prints all about one server.
func (v *serversCommand) one(p *serverConn, m *Main, s host.Status) error {
	if v.json {
		return m.WriteDocument(terminal.Document{"server": s})
	}
	if err := m.writeServers([]host.Status{s}, p.config); err != nil {
		return err
	}
	var lines []string
	add := func(heading string, more ...string) {
		if len(more) > 0 {
			lines = append(lines, heading)
			for _, line := range more {
				lines = append(lines, "  "+terminal.CleanLine(line))
			}
		}
	}
	if s.Reason != "" {
		add("reason", strings.Split(s.Reason, "\n")...)
	}
	if len(s.MissingScopes) > 0 {
		add("scopes that a call has lacked; "+m.credentialsCommand(&s, p.config), s.MissingScopes...)
	}
	if s.SessionsLost > 0 {
		lines = append(lines, sessionNote(s))
	}
	if s.WaitingCount > 0 {
		add("waiting for approval; "+m.approveCommand(s.Key, p.config), describeWaiting(s)...)
	}
	var denied []string
	for _, name := range s.Denied {
		denied = append(denied, s.Key+"/"+name) // as it is typed
	}
	add("denied by the rules", denied...)
	add("left out", s.Omitted...)
	add("standard error", s.Stderr...)
	if len(s.Withheld) > 0 {
		add("variables that it did not get; name those that it needs in \"env\"", strings.Join(s.Withheld, ", "))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(m.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}
