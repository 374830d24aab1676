package cli

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

var readEntry = commandInfo{
	name: "read", operands: "URI", does: "read a resource",
	about:   "Binary contents are written to a pipe or a file only.",
	example: "read clock://now",
	make:    func() command { return new(readCommand) },
}

type readCommand struct{ serverFlags }

func (v *readCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) != 1 {
		return usagef("found %d operands, want one URI; %s resources lists them", len(operands), m.program())
	}
	uri := operands[0]
	p, err := v.connect(ctx, m, "", nil)
	if err != nil {
		return err
	}
	w := m.StartProgress("reading %s", uri)
	p.questions.during(w)
	result, err := p.ReadResource(ctx, uri)
	w.Stop()
	switch {
	case mcp.CodeOf(err) == mcp.CodeResourceNotFound:
		return p.resourceError(ctx, uri, err)
	case err != nil:
		return p.afterQuestions(err)
	case v.json:
		return m.WriteDocument(terminal.Document{"result": result})
	}
	for _, contents := range result.Contents {
		if err := m.writeResource(contents); err != nil {
			return err
		}
	}
	return nil
}

// resourceError adds the suggestion of a similar resource to an error.
func (p *serverConn) resourceError(ctx context.Context, uri string, err error) error {
	known, failed := optionalList(p.Resources(ctx))
	if failed != nil {
		return err
	}
	uris := make([]string, len(known))
	for i, r := range known {
		uris[i] = r.URI
	}
	return fmt.Errorf("%w%s", err, didYouMean(uri, uris))
}

func (m *Main) writeResource(c mcp.ResourceContents) error {
	switch {
	case !c.IsBlob():
		return m.WriteText(c.Text)
	case m.Terminal:
		return usagef("%s: %d bytes of %s are not for a terminal; write them to a file with > FILE", c.URI, len(c.Blob), c.MIMEType)
	}
	_, err := m.Stdout.Write(c.Blob)
	return err
}
