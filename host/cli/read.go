package cli

import (
	"context"
	"flag"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

var readEntry = entry{
	name: "read", operands: "URI", does: "read a resource",
	about:   "Binary contents go to a pipe or a file only.",
	example: "read clock://now",
	make:    func() verb { return new(readVerb) },
}

type readVerb struct{ endpoint }

func (v *readVerb) declare(f *flag.FlagSet) { v.endpoint.declare(f) }

func (v *readVerb) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) != 1 {
		return usagef("found %d operands, want one URI; %s resources lists them", len(operands), m.program())
	}
	c, err := v.connect(ctx, m, nil)
	if err != nil {
		return err
	}
	result, err := c.ReadResource(ctx, operands[0])
	switch {
	case err != nil:
		return err
	case v.json:
		return m.writeJSON(result)
	}
	for _, contents := range result.Contents {
		if err := m.writeResource(contents); err != nil {
			return err
		}
	}
	return nil
}

func (m *Main) writeResource(c mcp.ResourceContents) error {
	switch {
	case !c.IsBlob():
		return m.writeText(c.Text)
	case m.Terminal:
		return fmt.Errorf("%s: %d bytes of %s are not for a terminal; write them to a file with > FILE", c.URI, len(c.Blob), c.MIMEType)
	}
	_, err := m.Stdout.Write(c.Blob)
	return err
}
