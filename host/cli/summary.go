package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// summary prints the address and the upstreams of a host that has started, and how to use
// it.
type summary struct {
	to            *Main
	base          string
	config        string // the file that --config names
	tokens        string // the file of tokens that clients need; empty for none
	tokenFlag     string // gives a token of that file to the commands of the summary; empty for none
	demonstration bool
	consoleLink   func() string // nil if no link may be printed

	mu        sync.Mutex
	lastLines map[string]string // last line of each upstream; nil before print
}

// print prints the summary. Changes of upstreams in the meantime are printed after it.
func (s *summary) print(g *gateway.Gateway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastLines = make(map[string]string)
	m := s.to
	m.Message("\n  endpoint   %s/mcp     all revisions", s.base)
	m.Message("             %s/sse     HTTP+SSE, for clients of %s", s.base, mcp.V20241105)
	if s.consoleLink != nil {
		m.Message("  console    %s     once, within ten minutes", s.consoleLink())
	} else {
		m.Message("  console    %s/     %s open opens it", s.base, m.program())
	}
	s.upstreams(g.Status())
	m.Message("\nAdd it to a client:\n")
	s.clientEntries()
	m.Message("\nOr use it from a second terminal:\n")
	m.Message("  %s", s.command("tools"))
	m.Message("  %s", s.command(s.exampleCall(g.Tools(), g.Status())))
	m.Message("  %s", s.command("watch"))
	m.Message("\nCtrl-C stops it.")
}

// clientEntries prints what a client needs to connect.
func (s *summary) clientEntries() {
	m := s.to
	if s.tokens == "" {
		m.Message(`  {"mcpServers": {"fondaco": {"type": "http", "url": "%s/mcp"}}}`, s.base)
		m.Message("  claude mcp add --transport http fondaco %s/mcp", s.base)
		return
	}
	m.Message(`  {"mcpServers": {"fondaco": {"type": "http", "url": "%s/mcp", "headers": {"Authorization": "Bearer TOKEN"}}}}`, s.base)
	m.Message(`  claude mcp add --transport http fondaco %s/mcp --header "Authorization: Bearer TOKEN"`, s.base)
	m.Message("\nTOKEN is what follows NAME: in a line of %s", s.tokens)
}

// onStatus prints a line for an upstream that has changed since the summary.
func (s *summary) onStatus(u host.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := s.line(u); s.lastLines != nil && s.lastLines[u.Key] != line {
		s.lastLines[u.Key] = line
		s.to.PeerMessage("  upstream   %s", strings.ReplaceAll(line, "\t", "    "))
	}
}

// line describes an upstream in columns.
func (s *summary) line(u host.Status) string {
	return fmt.Sprintf("%s\t%s\t%s", u.Key, u.State, terminal.CleanLine(s.describe(u)))
}

// maxLeftOut limits the printed features of one upstream that clients do not see.
const maxLeftOut = 3

// upstreams prints a line for each upstream, and lines for features that clients do not
// see.
func (s *summary) upstreams(all []host.Status) {
	var lines strings.Builder
	w := tabwriter.NewWriter(&lines, 0, 0, 4, ' ', 0)
	for _, u := range all {
		s.lastLines[u.Key] = s.line(u)
		fmt.Fprintf(w, "  upstream   %s\n", s.lastLines[u.Key])
	}
	_ = w.Flush()
	s.to.PeerMessage("%s", strings.TrimSuffix(lines.String(), "\n"))
	for _, u := range all {
		for _, omitted := range u.Omitted[:min(len(u.Omitted), maxLeftOut)] {
			s.to.PeerMessage("  left out   %s: %s", u.Key, terminal.CleanLine(omitted))
		}
		if more := len(u.Omitted) - maxLeftOut; more > 0 {
			s.to.Message("  left out   %s: %d more", u.Key, more)
		}
	}
}

// describe describes an upstream, or why it is not ready.
func (s *summary) describe(u host.Status) string {
	switch u.State {
	case host.Degraded, host.Failing, host.Failed, host.Suspended:
		return u.Reason + connectAdvice(u.Reason) + withheldNote(u)
	case host.NeedsApproval:
		return fmt.Sprintf("%s   %s", s.to.approveCommand(u.Key, s.config), strings.TrimPrefix(u.Reason, host.ErrNeedsApproval.Error()+": "))
	case host.NeedsSignIn:
		return s.to.credentialsCommand(&u, s.config)
	case host.Starting:
		return u.Transport + ", available when it is ready"
	case host.Idle:
		return u.Transport + ", starts when it is needed"
	}
	var counts []string
	for _, c := range []struct {
		n    int
		noun string
	}{{u.Tools, "tool"}, {u.Resources, "resource"}, {u.Templates, "template"}, {u.Prompts, "prompt"}} {
		switch {
		case c.n == 1:
			counts = append(counts, "1 "+c.noun)
		case c.n > 1:
			counts = append(counts, fmt.Sprintf("%d %ss", c.n, c.noun))
		}
	}
	if u.WaitingCount > 0 {
		counts = append(counts, fmt.Sprintf("%d waiting for approval", u.WaitingCount))
	}
	lacks := ""
	if len(u.MissingScopes) > 0 {
		lacks = "   a call lacked a scope: " + s.to.credentialsCommand(&u, s.config)
	}
	return fmt.Sprintf("%s %s   %s%s", u.Revision, u.Transport, strings.Join(counts, ", "), lacks)
}

// approveCommand is the command that approves a server or a tool of the current
// configuration.
func (m *Main) approveCommand(name, config string) string {
	command := m.program() + " approve " + host.ShellQuote(name)
	if config != "" {
		command += " --config " + host.ShellQuote(config)
	}
	return command
}

// command is a command to paste, for the address that is served.
func (s *summary) command(name string) string {
	command := s.to.program() + " " + name
	if url := s.base + "/mcp"; url != defaultURL {
		command += " --url " + url
	}
	if s.tokenFlag != "" {
		command += " " + s.tokenFlag
	}
	return command
}

// revealingWords are parts of names and descriptions of tools that may print variables or secrets.
var revealingWords = []string{"env", "variable", "secret", "token", "password", "credential", "key", "config", "setting", "debug"}

// mayShowSecrets reports whether the result of a tool is likely to have secrets of the user, by
// its name and description.
func mayShowSecrets(t *mcp.Tool) bool {
	text := strings.ToLower(t.Name + " " + t.DisplayName() + " " + t.Description)
	return slices.ContainsFunc(revealingWords, func(word string) bool { return strings.Contains(text, word) })
}

// exampleCall returns a call to try: of a read-only tool without required arguments that is not
// likely to print secrets. If there is none it returns the command that shows a tool, or what
// there is instead. It contains no text of an upstream except names.
func (s *summary) exampleCall(tools []mcp.Tool, all []host.Status) string {
	if s.demonstration {
		return "call " + demoKey + "/time zone=Europe/Rome"
	}
	for _, t := range tools {
		args, err := readArguments(t.InputSchema)
		if err == nil && t.Annotations.ReadOnly() && !args.needed() && !mayShowSecrets(&t) {
			return "call " + host.DisplayName(t.Name)
		}
	}
	switch {
	case len(tools) > 0:
		return "tools " + host.DisplayName(tools[0].Name)
	case slices.ContainsFunc(all, func(u host.Status) bool { return u.State != host.Ready || u.WaitingCount > 0 }):
		return "servers"
	}
	return "resources"
}
