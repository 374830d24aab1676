package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
)

// askForPrograms shows each program that is not approved as it is now, and asks whether
// it may be started. Without a terminal it asks nothing, and such programs are not
// started.
func (h *hostProcess) askForPrograms(ctx context.Context) error {
	if h.approvals == nil || h.yes || !h.main.Interactive {
		return nil
	}
	for i := range h.upstreams {
		u := &h.upstreams[i]
		p, isProgram, err := h.approvals.ProgramOf(u)
		if err != nil || !isProgram {
			continue // the start reports the error
		}
		if ok, err := h.approvals.Approved(u, p); err != nil || ok {
			continue
		}
		h.main.showProgram(u, p)
		answer, err := h.main.ask(ctx, "\nIt can do whatever you can do. Start it now and in future? [y/N]")
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case !isYes(answer):
			continue
		}
		if err := h.approve(u, p, "by the user"); err != nil {
			return err
		}
	}
	return nil
}

// showProgram prints all that an approval of a program covers.
func (m *Main) showProgram(u *host.Upstream, p consent.Program) {
	m.message("\nThe server %q is a program that was not approved as it is now:\n", u.Key)
	m.message("  %s\n", p)
	m.message("  file       %s", cleanLine(p.File))
	m.message("  SHA-256    %s", p.Sum)
	if p.Dir != "" {
		m.message("  directory  %s", cleanLine(p.Dir))
	}
	for _, variable := range p.Env {
		name, value, decides := strings.Cut(variable, "=")
		if decides {
			m.message("  with       %s=%s, which can change what code runs", cleanLine(name), cleanLine(value))
			continue
		}
		m.message("  with       %s", cleanLine(name))
	}
}
