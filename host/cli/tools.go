package cli

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var toolsEntry = entry{
	name: "tools", operands: "[NAME]", does: "list the tools, or show one with its arguments",
	about:   "A name is written UPSTREAM/TOOL, or UPSTREAM__TOOL as on the wire.",
	example: "tools demo/countdown",
	make:    func() verb { return new(toolsVerb) },
}

type toolsVerb struct{ endpoint }

func (v *toolsVerb) declare(f *flag.FlagSet) { v.endpoint.declare(f) }

func (v *toolsVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) > 1 {
		return usagef("found %d names, want one or none", len(operands))
	}
	c, err := v.connect(ctx, m, nil)
	if err != nil {
		return err
	}
	if len(operands) == 1 {
		tool, err := toolNamed(ctx, c, m, operands[0])
		if err != nil {
			return err
		}
		return v.show(m, tool)
	}
	tools, err := collect(c.Tools(ctx))
	if err != nil {
		return err
	}
	if v.json {
		return m.writeJSON(tools)
	}
	var rows [][]string
	for _, t := range tools {
		rows = append(rows, []string{host.ShowName(t.Name), brief(t.Description)})
	}
	return m.writeTable(rows)
}

// show writes one tool for somebody who wants to call it.
func (v *toolsVerb) show(m *Main, t mcp.Tool) error {
	if v.json {
		return m.writeJSON(t)
	}
	args, err := readArguments(t.InputSchema)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "%s\n  %s\n", cleanLine(host.ShowName(t.Name)), strings.ReplaceAll(clean(t.Description), "\n", "\n  "))
	var rows [][]string
	for _, a := range args.list {
		need := "optional"
		if a.required {
			need = "required"
		}
		rows = append(rows, []string{"  " + a.name, need, a.kind(), brief(a.Description)})
	}
	return m.writeTable(rows)
}

// toolNamed returns the tool that a person means.
func toolNamed(ctx context.Context, c *mcpclient.Client, m *Main, written string) (mcp.Tool, error) {
	wire := host.ParseName(written)
	for t, err := range c.Tools(ctx) {
		if err != nil {
			return mcp.Tool{}, err
		}
		if t.Name == wire || t.Name == written {
			return t, nil
		}
	}
	return mcp.Tool{}, usagef("tool %q: unknown; %s tools lists them", written, m.program())
}
