package cli

import (
	"context"
	"encoding/json/jsontext"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var callEntry = entry{
	name: "call", operands: "NAME [KEY=VALUE...]", does: "call a tool",
	about: `Values are typed as the tool wants them; arrays and objects are written as JSON.
Names and types of the arguments are checked first: when one is missing or
wrong nothing is sent. The server checks the rest.
Ctrl-C cancels the call.`,
	example: "call demo/time zone=Europe/Rome",
	make:    func() verb { return new(callVerb) },
}

type callVerb struct {
	endpoint
	args string
}

func (v *callVerb) declare(f *flag.FlagSet) {
	v.endpoint.declare(f)
	f.StringVar(&v.args, "args", "", "all arguments as one `JSON` object; - reads standard input")
}

func (v *callVerb) run(ctx context.Context, m *Main, operands []string) error {
	switch {
	case len(operands) == 0:
		return usagef("want the name of a tool; %s tools lists them", m.program())
	case v.args != "" && len(operands) > 1:
		return usagef("found both --args and %q, want one of them", operands[1])
	}
	c, err := v.connect(ctx, m, nil)
	if err != nil {
		return err
	}
	tool, err := toolNamed(ctx, c, m, operands[0])
	if err != nil {
		return err
	}
	args, err := v.arguments(m, tool, operands[1:])
	if err != nil {
		return err
	}
	p := progressWriter{to: m, since: time.Now()}
	result, err := c.CallTool(ctx, tool.Name, args, mcpclient.WithProgress(p.show))
	if err != nil {
		return err
	}
	return v.show(m, tool, result)
}

// maxArguments bounds the arguments that are read from standard input.
const maxArguments = 4 << 20

// arguments returns what is to be sent as a JSON object.
func (v *callVerb) arguments(m *Main, tool mcp.Tool, pairs []string) (jsontext.Value, error) {
	known, err := readArguments(tool.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", tool.Name, err)
	}
	args, err := known.fromPairs(pairs)
	if v.args != "" {
		args, err = v.fromJSON(m, known)
	}
	if err != nil {
		return nil, usagef("%s: %w", host.ShowName(tool.Name), err)
	}
	return args, nil
}

func (v *callVerb) fromJSON(m *Main, known *arguments) (jsontext.Value, error) {
	if v.args != "-" {
		return known.fromJSON([]byte(v.args))
	}
	text, err := io.ReadAll(io.LimitReader(m.Stdin, maxArguments))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return known.fromJSON(text)
}

// show writes what a tool answered. The words of one that failed go to standard
// error.
func (v *callVerb) show(m *Main, tool mcp.Tool, result *mcp.CallToolResult) error {
	switch {
	case v.json:
		if err := m.writeJSON(result); err != nil {
			return err
		}
	case result.IsError:
		m.say("%s failed: %s", cleanLine(host.ShowName(tool.Name)), clean(result.Content.Text()))
	case len(result.Content) == 0 && result.StructuredContent != nil:
		return m.writeJSON(result.StructuredContent)
	default:
		if err := m.writeContents(result.Content); err != nil {
			return err
		}
	}
	if result.IsError {
		return errTool
	}
	return nil
}

// progressWriter tells a user who waits how far a call has come.
type progressWriter struct {
	to    *Main
	since time.Time
	last  time.Time
}

const (
	quickCall     = 700 * time.Millisecond // calls that are done by then show no progress
	progressPause = 200 * time.Millisecond
)

// show writes one line, at most five times a second.
func (w *progressWriter) show(p mcp.ProgressParams) {
	if time.Since(w.since) < quickCall || time.Since(w.last) < progressPause {
		return
	}
	w.last = time.Now()
	if p.Total > 0 {
		w.to.say("%3.0f %%  %s", 100*p.Progress/p.Total, cleanLine(p.Message))
		return
	}
	w.to.say("%v  %s", p.Progress, cleanLine(p.Message))
}
