package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

var toolsEntry = commandInfo{
	name: "tools", operands: "[SERVER | NAME]", does: "list the tools, or show one with its arguments",
	about:   "A name is written SERVER/TOOL, or SERVER__TOOL as in the protocol.",
	example: "tools demo/countdown",
	make:    func() command { return new(toolsCommand) },
}

type toolsCommand struct{ serverFlags }

func (v *toolsCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 1 {
		return usagef("found %d names, want one or none", len(operands))
	}
	written := strings.Join(operands, "")
	p, err := v.connect(ctx, m, serverIn(written), nil)
	if err != nil {
		return err
	}
	tools, err := optionalList(p.Tools(ctx))
	if err != nil {
		return err
	}
	if written != "" {
		ofServer := slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool { return host.KeyOf(t.Name) != strings.TrimSuffix(written, "/") })
		if len(ofServer) == 0 || slices.ContainsFunc(tools, func(t mcp.Tool) bool { return t.Name == written }) {
			return v.one(ctx, p, m, written)
		}
		tools = ofServer
	}
	if v.json {
		return cmp.Or(m.WriteDocument(terminal.Document{"tools": tools}), p.noneReachable(ctx, m))
	}
	if len(tools) == 0 {
		p.nameWaiting(ctx, m)
	}
	t := terminal.Table{Head: []string{"TOOL", "DESCRIPTION"}}
	for _, tool := range tools {
		t.Rows = append(t.Rows, []string{host.DisplayName(tool.Name), terminal.Brief(tool.Description)})
	}
	return cmp.Or(m.WriteTable(t), p.noneReachable(ctx, m))
}

// one prints one tool with its arguments.
func (v *toolsCommand) one(ctx context.Context, p *serverConn, m *Main, written string) error {
	t, err := p.toolNamed(ctx, m, written)
	switch {
	case err != nil:
		return err
	case v.json:
		return m.WriteDocument(terminal.Document{"tool": t})
	}
	args, err := readArguments(t.InputSchema)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "%s\n  %s\n", m.Paint(terminal.Bold, terminal.CleanLine(host.DisplayName(t.Name))), strings.ReplaceAll(terminal.Clean(t.Description), "\n", "\n  "))
	var rows [][]string
	for _, a := range args.list {
		need := "optional"
		if a.required {
			need = "required"
		}
		rows = append(rows, []string{"  " + a.name, need, a.kind(), terminal.Brief(a.Description)})
	}
	return m.WriteTable(terminal.Table{Rows: rows})
}
