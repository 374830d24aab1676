package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// DecisionWords implements console.AuditSource.
func (s *consoleSource) DecisionWords() []string { return audit.Decisions() }

// Decisions implements console.AuditSource.
func (s *consoleSource) Decisions(ctx context.Context, q console.AuditQuery, limit int) (found []console.Decision, more int, err error) {
	path, key, err := s.host.main.storage().AuditFile(ctx)
	if err != nil {
		return nil, 0, err
	}
	records, more, err := lastRecords(ctx, path, key, &audit.Query{Server: q.Server, Name: q.Name, Person: q.Person, Decision: q.Decision}, limit)
	// A line is written when a call ends. It stands at the time when it began.
	slices.SortStableFunc(records, func(a, b audit.Record) int { return a.Time.Compare(b.Time) })
	for i := range slices.Backward(records) {
		found = append(found, console.Decision{Decision: records[i].Decision, Count: records[i].Count})
	}
	return found, more, err
}

// VerifyAudit implements console.AuditSource.
func (s *consoleSource) VerifyAudit(ctx context.Context) (read string, problems []string, err error) {
	r, err := s.host.main.storage().VerifyAudit(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, p := range r.Problems {
		problems = append(problems, describeProblem(p))
	}
	return fmt.Sprintf("Lines: %d, processes: %d, files: %d; removed by age or size: %d.", r.Lines, r.Writers, r.Files, r.Removed), problems, nil
}

// Config implements console.ConfigSource.
func (s *consoleSource) Config(context.Context) (*console.Config, error) {
	if s.host.path == "" {
		return new(console.Config), nil
	}
	c, err := config.Load(s.host.path, &config.Options{Env: s.host.main.Getenv, Ask: placeholder})
	if err != nil {
		return nil, err
	}
	out := &console.Config{Path: s.host.path}
	for _, f := range c.Errors {
		out.Errors = append(out.Errors, f.Error())
	}
	for _, f := range c.Warnings {
		out.Notes = append(out.Notes, f.Error())
	}
	lines, err := config.ShownLines(s.host.path, c)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		out.Lines = append(out.Lines, console.ConfigLine(l))
	}
	statuses := s.host.statuses()
	for i := range c.Upstreams {
		u := showUpstream(&c.Upstreams[i])
		shown := console.ConfiguredServer{
			Name: u.Name, State: u.State, Reached: u.Reached, Target: u.Target, Variables: u.Variables, Headers: u.Headers,
			Roots: rootsOf(&c.Upstreams[i]), Rules: describeRules(&c.Upstreams[i].Settings.Rules),
		}
		if program, ok := c.Upstreams[i].Target.(*mcpclient.CommandTarget); ok {
			shown.Arguments = config.ShownArguments(program.Args)
		}
		if at := slices.IndexFunc(statuses, func(s host.Status) bool { return s.Key == u.Name }); at >= 0 {
			shown.Now, shown.Reason, shown.Command = statuses[at].State, terminal.Brief(statuses[at].Reason), s.host.mendingCommand(&statuses[at])
		}
		out.Servers = append(out.Servers, shown)
	}
	for _, name := range c.Disabled {
		out.Servers = append(out.Servers, console.ConfiguredServer{Name: name, State: "disabled"})
	}
	for _, name := range c.Broken {
		out.Servers = append(out.Servers, console.ConfiguredServer{Name: name, State: "broken"})
	}
	return out, nil
}

// describeRules says which tools may be called, one line for each kind of rule.
func describeRules(r *host.Rules) (lines []string) {
	if len(r.Allow) > 0 {
		lines = append(lines, "clients see only "+strings.Join(r.Allow, ", "))
	}
	if len(r.Deny) > 0 {
		lines = append(lines, "clients do not see "+strings.Join(r.Deny, ", "))
	}
	for _, c := range r.Confirm {
		lines = append(lines, fmt.Sprintf("calls of %s need consent: %s", c.Tools, c.When))
	}
	return lines
}
