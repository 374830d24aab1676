// Package doctor finds out why a server cannot be used. It checks everything that a connection needs, from
// the configuration to a call, in the order in which it is needed, and names the first check that fails,
// what was found there, and the command that corrects it. Nothing is started, and nothing is sent to a server, before the user has
// approved it or has typed its URL or command.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// check is one thing that a connection to a server needs.
type check struct {
	name string
	run  func(context.Context, *examination)
	// continues says that later checks run although this one has found a fault.
	continues bool
}

// checks are in the order in which they run. Each may use what the earlier ones have found.
var checks = []check{
	{name: "configuration", run: checkConfiguration},
	{name: "program", run: checkProgram},
	{name: "approval", run: checkApproval},
	{name: "runtime", run: checkRuntime},
	{name: "proxy", run: checkProxy},
	{name: "dns", run: checkDNS},
	{name: "tcp", run: checkTCP},
	{name: "tls", run: checkTLS},
	{name: "endpoint", run: checkEndpoint},
	{name: "metadata", run: checkMetadata},
	{name: "sign-in", run: checkSignIn},
	{name: "connection", run: checkConnection},
	{name: "revision", run: checkRevision},
	{name: "features", run: checkFeatures, continues: true},
	{name: "lint", run: checkLint, continues: true},
	{name: "call", run: checkCall, continues: true},
}

// Checks returns the names of the checks in their order.
func Checks() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}

// Examine examines a server. Options may be nil. When ctx ends, the remaining checks are skipped.
//
//	Examine
//	├─ configuration, program   read files alone
//	├─ approval                 from here on, programs run and hosts are contacted
//	├─ runtime                  asks node, uv, docker and the like for their versions
//	├─ proxy, dns, tcp, tls     one connection, over which nothing is sent but to a proxy
//	├─ endpoint, metadata, sign-in, connection, revision
//	│                           what mcpclient.Connect has found, see connect
//	├─ features, lint           the lists of the server, and what its author should change in them
//	└─ call                     a ping, and the tool of Options.Tool
//
// A fault ends the examination, and the remaining checks are skipped; a fault in the features does not. What lint finds is a warning, because clients can use the server.
func Examine(ctx context.Context, u *host.Upstream, o *Options) *Report {
	if o == nil {
		o = new(Options)
	}
	e := &examination{opts: o, upstream: u, report: &Report{Server: u.Key}}
	switch t := e.commandTarget(); {
	case u.Key != "":
	case t != nil:
		e.report.Server = t.Path
	default:
		e.report.Server = u.Target.String()
	}
	defer e.close()
	for _, c := range checks {
		e.run(ctx, c)
	}
	return e.report
}

// examination is one run of Examine.
type examination struct {
	opts     *Options
	upstream *host.Upstream // as it is configured; with the values of references once it is approved
	report   *Report

	current check  // the one that runs
	stopped string // the check whose fault ended the examination; empty before

	program string // path of the program; empty before the check program
	network network
	session session
	surface *mcp.Surface // what the server lists; nil before it was read
}

// run runs a check, unless an earlier one has found a fault.
func (e *examination) run(ctx context.Context, c check) {
	e.current = c
	switch before := len(e.report.Results); {
	case e.stopped != "":
		e.skip("not checked, because of the fault in %s", e.stopped)
	case ctx.Err() != nil:
		e.skip("not checked: %v", context.Cause(ctx))
	default:
		c.run(ctx, e)
		if !c.continues && slices.ContainsFunc(e.report.Results[before:], func(r Result) bool { return r.Status == Fault }) {
			e.stopped = c.name
		}
	}
}

func (e *examination) close() {
	e.network.close()
	e.session.close()
}

func (e *examination) pass(format string, args ...any) { e.add(OK, "", "", format, args...) }

func (e *examination) skip(format string, args ...any) { e.add(Skipped, "", "", format, args...) }

// warn reports something that should be changed. The fix may be empty.
func (e *examination) warn(id ID, fix, format string, args ...any) {
	e.add(Warning, id, fix, format, args...)
}

// fail reports a fault. The fix may be empty.
func (e *examination) fail(id ID, fix, format string, args ...any) {
	e.add(Fault, id, fix, format, args...)
}

// maxText limits the text of a result, in bytes.
const maxText = 1 << 10

func (e *examination) add(s Status, id ID, fix, format string, args ...any) {
	text := strings.ToValidUTF8(e.opts.redact(fmt.Sprintf(format, args...)), "\uFFFD")
	r := Result{Check: e.current.name, Status: s, ID: id, Text: host.CutText(text, maxText-len("…")), Fix: e.opts.redactFix(fix)}
	e.report.Results = append(e.report.Results, r)
	if e.opts.OnResult != nil {
		e.opts.OnResult(r)
	}
}

// commandTarget returns the program of the server, nil if the server is no program.
func (e *examination) commandTarget() *mcpclient.CommandTarget {
	t, _ := e.upstream.Target.(*mcpclient.CommandTarget)
	return t
}

// configured reports whether the server is in a configuration file.
func (e *examination) configured() bool { return e.upstream.Origin.File != "" }

// doctorCommand is the command that examines the server again.
func (e *examination) doctorCommand() string {
	t := e.commandTarget()
	switch {
	case e.configured():
		return e.opts.command("doctor", e.upstream.Key)
	case t != nil:
		return e.opts.command(append([]string{"doctor", "--"}, e.commandWords()...)...)
	case e.upstream.Target == nil:
		return e.opts.command("doctor")
	}
	return e.opts.command("doctor", e.upstream.Target.String())
}

// quotedWords returns the words of a command, quoted for a shell.
func quotedWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = host.ShellQuote(w)
	}
	return strings.Join(quoted, " ")
}
