package cli

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

var versionEntry = commandInfo{
	name: "version", does: "show the version, and the protocol revisions",
	example: "version",
	make:    func() command { return new(versionCommand) },
}

type versionCommand struct{ output }

func (v *versionCommand) declare(f *flag.FlagSet) { v.output.declare(f) }

func (v *versionCommand) run(_ context.Context, m *Main, _ []string) error {
	var revisions []string
	for _, r := range mcp.Revisions() {
		revisions = append(revisions, r.String())
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"version": host.Version, "go": runtime.Version(), "revisions": revisions})
	}
	fmt.Fprintf(m.Stdout, "fondaco %s (%s, %s/%s)\nprotocol %s\n",
		host.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(revisions, " "))
	return nil
}
