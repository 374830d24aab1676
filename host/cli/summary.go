package cli

import (
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
)

// summary tells the user of a host that has come up: where it is, what is behind
// it, and what to do with it next.
type summary struct {
	to            *Main
	base          string
	config        string // the file that the user named
	demonstration bool

	mu   sync.Mutex
	told map[string]string // of each upstream, what was said last; nil until there is a summary
}

// print says what there is. What becomes of an upstream meanwhile is news, and
// told behind it.
func (s *summary) print(g *gateway.Gateway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = make(map[string]string)
	m := s.to
	m.say("\n  endpoint   %s/mcp     all revisions", s.base)
	m.say("             %s/sse     HTTP+SSE, for clients of %s", s.base, mcp.V20241105)
	s.upstreams(g.Status())
	m.say("\nAdd it to a client:\n")
	m.say(`  {"mcpServers": {"fondaco": {"type": "http", "url": "%s/mcp"}}}`, s.base)
	m.say("  claude mcp add --transport http fondaco %s/mcp", s.base)
	m.say("\nOr use it from a second terminal:\n")
	m.say("  %s", s.command("tools"))
	m.say("  %s", s.command(s.tryOut(g.Tools())))
	m.say("  %s", s.command("watch"))
	m.say("\nCtrl-C stops it.")
}

// news tells of an upstream that has changed since the summary.
func (s *summary) news(u host.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := s.line(u); s.told != nil && s.told[u.Key] != line {
		s.told[u.Key] = line
		s.to.say("  upstream   %s", strings.ReplaceAll(line, "\t", "    "))
	}
}

// line says what has become of an upstream, in columns.
func (s *summary) line(u host.Status) string {
	return fmt.Sprintf("%s\t%s\t%s", u.Key, u.State, cleanLine(s.account(u)))
}

// maxLeftOut bounds the features of one upstream that are named because clients
// do not see them.
const maxLeftOut = 3

// upstreams writes a line for each upstream, and one for each of its features
// that clients do not see.
func (s *summary) upstreams(all []host.Status) {
	w := tabwriter.NewWriter(s.to.Stderr, 0, 0, 4, ' ', 0)
	for _, u := range all {
		s.told[u.Key] = s.line(u)
		fmt.Fprintf(w, "  upstream   %s\n", s.told[u.Key])
	}
	_ = w.Flush()
	for _, u := range all {
		for _, omitted := range u.Omitted[:min(len(u.Omitted), maxLeftOut)] {
			s.to.say("  left out   %s: %s", u.Key, cleanLine(omitted))
		}
		if more := len(u.Omitted) - maxLeftOut; more > 0 {
			s.to.say("  left out   %s: %d more", u.Key, more)
		}
	}
}

// account says what an upstream is, or why it is not there.
func (s *summary) account(u host.Status) string {
	switch u.State {
	case host.Failed, host.Suspended:
		return u.Reason
	case host.NeedsApproval:
		return fmt.Sprintf("%s   %s", s.to.approval(u.Key, s.config), strings.TrimPrefix(u.Reason, host.ErrNeedsApproval.Error()+": "))
	case host.NeedsSignIn:
		return s.to.signInCommand(u.Key, s.config)
	case host.Starting:
		return u.Transport + ", joins when it is ready"
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
	return fmt.Sprintf("%s %s   %s", u.Revision, u.Transport, strings.Join(counts, ", "))
}

// approval is the command that approves a server or a tool of the configuration in
// use.
func (m *Main) approval(name, config string) string {
	command := m.program() + " approve " + quote(cleanLine(name))
	if config != "" {
		command += " --config " + quote(config)
	}
	return command
}

// command is a command to paste, for the address that is really served.
func (s *summary) command(verb string) string {
	command := s.to.program() + " " + verb
	if url := s.base + "/mcp"; url != defaultURL {
		command += " --url " + url
	}
	return command
}

// tryOut returns a call to try: of a tool that says it changes nothing, and that
// needs no arguments. Where there is none it shows how a tool is called. Nothing
// but names gets into it from an upstream.
func (s *summary) tryOut(tools []mcp.Tool) string {
	if s.demonstration {
		return "call " + demoKey + "/time zone=Europe/Rome"
	}
	for _, t := range tools {
		args, err := readArguments(t.InputSchema)
		if err == nil && t.Annotations.ReadOnly() && !args.needed() {
			return "call " + host.DisplayName(t.Name)
		}
	}
	if len(tools) > 0 {
		return "tools " + host.DisplayName(tools[0].Name)
	}
	return "resources"
}
