package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
)

// askForPrograms shows the programs that were never approved as they are now, and
// asks for each whether it may be started. Without a terminal nobody is asked:
// what is not approved is not started.
func (h *hosting) askForPrograms(ctx context.Context) error {
	if h.book == nil || h.yes || !h.main.Interactive {
		return nil
	}
	for i := range h.upstreams {
		u := &h.upstreams[i]
		p, isProgram, err := h.book.ProgramOf(u)
		if err != nil || !isProgram {
			continue // which its start will tell
		}
		if ok, err := h.book.Approved(u, p); err != nil || ok {
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

// showProgram shows the whole of a program.
func (m *Main) showProgram(u *host.Upstream, p consent.Program) {
	m.say("\nThe server %q is a program that was not approved as it is now:\n", u.Key)
	m.say("  %s\n", p)
	m.say("  file       %s", cleanLine(p.File))
	m.say("  SHA-256    %s", p.Sum)
	if p.Dir != "" {
		m.say("  directory  %s", cleanLine(p.Dir))
	}
	for _, variable := range p.Env {
		name, value, decides := strings.Cut(variable, "=")
		if decides {
			m.say("  with       %s=%s, which decides what code runs", cleanLine(name), cleanLine(value))
			continue
		}
		m.say("  with       %s", cleanLine(name))
	}
}
