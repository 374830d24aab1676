package dialog

import (
	"context"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// URL shows the address of an elicitation, and opens it after a yes only. Afterwards the user can open
// it again, or cancel.
func (d *Dialog) URL(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	ShowAddress(d.IO, p)
	// A long address moves the line with the host out of sight.
	answer, err := d.Choose(ctx, "Open "+mcpclient.URLHost(p)+" in your browser? [y open, N decline, c cancel]", "no", "no", "decline", "yes", "open", "cancel")
	for {
		switch {
		case err != nil:
			return result(nil, err)
		case answer == "no" || answer == "decline":
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		case answer == "cancel":
			return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
		case answer == "done":
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}
		if err := d.OpenLink(ctx, p.URL); err != nil {
			d.IO.Message("%s; open the address yourself", terminal.Clean(err.Error()))
		}
		answer, err = d.Choose(ctx, "Go on once you are done there? [Y done, r open it again, c cancel]", "done", "done", "yes", "retry", "cancel")
		if answer == "yes" {
			answer = "done"
		}
	}
}

// ShowAddress prints the host of an address, the whole address, and what a person may not see of it.
func ShowAddress(m *terminal.IO, p *mcp.ElicitParams) {
	m.Message("  host       %s", mcpclient.URLHost(p))
	if warning := host.AddressWarning(p.URL); warning != "" {
		m.Message("  warning    %s", warning)
	}
	m.Message("  address    %s", terminal.CleanLine(p.URL))
}
