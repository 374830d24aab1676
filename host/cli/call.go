package cli

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var callEntry = commandInfo{
	name: "call", operands: "NAME [KEY=VALUE... | JSON | -]", does: "call a tool",
	about: `The types of values are those of the input schema; arrays and objects are
written as JSON. JSON is all arguments as one object, and - reads it from
standard input. If an argument is invalid nothing is sent. Binary results are
written to files, whose paths are printed. Ctrl-C cancels the call.`,
	example: "call demo/time zone=Europe/Rome",
	make:    func() command { return new(callCommand) },
}

type callCommand struct {
	serverFlags
	files fileWriter
}

func (v *callCommand) declare(f *flag.FlagSet) {
	v.serverFlags.declare(f)
	f.StringVar(&v.files.dir, "dir", "", "write files to `DIR` instead of the temporary directory")
}

func (v *callCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 0 {
		return usagef("want the name of a tool; %s tools lists them", m.program())
	}
	p, err := v.connect(ctx, m, keyIn(operands[0]), nil)
	if err != nil {
		return err
	}
	tool, err := p.toolNamed(ctx, m, operands[0])
	if err != nil {
		m.recordHidden(err, host.ActionCall, operands[0])
		return err
	}
	args, err := m.arguments(tool, operands[1:])
	if err != nil {
		return err
	}
	w := m.StartProgress("%s", host.DisplayName(tool.Name))
	p.questions.during(w)
	result, err := p.CallTool(ctx, tool.Name, args, mcpclient.WithProgress(w.Show))
	w.Stop()
	if err != nil {
		return p.afterQuestions(&callError{err, tool.Name})
	}
	return v.show(ctx, p, m, tool, result)
}

// afterQuestions returns the error of a call. If a question was declined, the exit code
// says that consent is missing. If nobody could be asked, the error says what would be right.
func (p *serverConn) afterQuestions(err error) error {
	if p.questions.wereDeclined() && exitCode(err) == exitTool {
		return &codedError{exitConsent, err}
	}
	if advice := p.askAdvice(err); advice != "" {
		return fmt.Errorf("%w; %s", err, advice)
	}
	return err
}

// callError is the error of a call of a tool, or of a prompt, with the name as users write it.
type callError struct {
	err  error
	wire string
}

func (e *callError) Error() string {
	return strings.ReplaceAll(e.err.Error(), strconv.Quote(e.wire), strconv.Quote(host.DisplayName(e.wire)))
}

func (e *callError) Unwrap() error { return e.err }

// maxArguments limits arguments on standard input, in bytes.
const maxArguments = 4 << 20

// arguments returns the checked arguments as a JSON object.
func (m *Main) arguments(tool mcp.Tool, words []string) (jsontext.Value, error) {
	known, err := readArguments(tool.InputSchema)
	if err != nil {
		return nil, codedErrorf(exitProtocol, "tool %q: %w", tool.Name, err)
	}
	args, err := m.readArguments(known, words)
	if err == nil {
		err = mcpclient.CheckArguments(tool, args)
		if _, wrong := errors.AsType[*mcpclient.ValidationError](err); err != nil && !wrong {
			m.Info("%v; the server checks the arguments", err)
			err = nil
		}
	}
	if err != nil {
		return nil, usagef("%s: nothing was sent\n%w", host.DisplayName(tool.Name), err)
	}
	return args, nil
}

// readArguments reads the arguments in one of their forms.
func (m *Main) readArguments(known *arguments, words []string) (jsontext.Value, error) {
	switch {
	case len(words) == 0 || words[0] != "-" && !strings.HasPrefix(words[0], "{"):
		return known.fromPairs(words)
	case len(words) > 1:
		return nil, fmt.Errorf("found %q after the JSON arguments, want nothing", words[1])
	case words[0] != "-":
		return known.fromJSON([]byte(words[0]))
	}
	text, err := io.ReadAll(io.LimitReader(m.Stdin, maxArguments+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("standard input: %w", err)
	case len(text) > maxArguments:
		return nil, fmt.Errorf("standard input: more than %d bytes", maxArguments)
	}
	return known.fromJSON(text)
}

// show prints the result of a tool. The text of a failed call goes to standard error.
func (v *callCommand) show(ctx context.Context, p *serverConn, m *Main, tool mcp.Tool, result *mcp.CallToolResult) error {
	switch {
	case v.json:
		if err := m.WriteDocument(terminal.Document{"result": result}); err != nil {
			return err
		}
	case result.IsError:
		m.Message("%s failed: %s", terminal.CleanLine(host.DisplayName(tool.Name)), result.Content.Text())
	default:
		if err := m.writeResult(result, &v.files); err != nil {
			return err
		}
	}
	switch {
	case !result.IsError:
		return nil
	case refusalReason(result) == host.RefusedSignIn:
		return p.credentialsError(ctx, m, keyIn(tool.Name))
	case refusalReason(result) == host.RefusedRecord:
		return errTool
	case result.Meta[host.MetaRefused] != nil, p.questions.wereDeclined():
		return &codedError{exitConsent, errTool}
	}
	return errTool
}

// refusalReason returns why the host refused a call, empty if it did not.
func refusalReason(result *mcp.CallToolResult) (why string) {
	_, _ = result.Meta.Get(host.MetaRefused, &why) // only the host writes a string there
	return why
}

// writeResult prints the content of a result, and its structured content unless that
// repeats it.
func (m *Main) writeResult(result *mcp.CallToolResult, files *fileWriter) error {
	structured := jsontext.Value(result.StructuredContent)
	written := structured == nil
	for _, c := range result.Content {
		if text, ok := c.(mcp.TextContent); ok && !written && equal(jsontext.Value(text.Text), structured) {
			written = true
			if err := m.writeStructured(structured); err != nil {
				return err
			}
			continue
		}
		if err := m.writeContent(c, files); err != nil {
			return err
		}
	}
	if written {
		return nil
	}
	return m.writeStructured(structured)
}

// writeStructured prints JSON: indented on a terminal, else on one line.
func (m *Main) writeStructured(v jsontext.Value) error {
	shown := v.Clone()
	if m.Terminal {
		if err := shown.Indent(); err != nil {
			return err
		}
	} else if err := shown.Compact(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(m.Stdout, "%s\n", terminal.CleanJSON(bytes.TrimSpace(shown)))
	return err
}
